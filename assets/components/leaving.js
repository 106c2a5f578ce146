/*
 * Between the click on a link to another page and that page's first message, Streamlit takes any other
 * event for a sign that the visitor has stayed: it draws the old page, or nothing. So nothing is told then.
 */

const ON_THE_WAY = 2000;

let linkClicked = -Infinity;

document.addEventListener(
  "click",
  (event) => {
    if (event.target.closest?.('[data-testid="stPageLink"] a')) linkClicked = performance.now();
  },
  true,
);

/** Whether another page may be on its way. */
const leaving = () => performance.now() - linkClicked < ON_THE_WAY;

/** The page has come. */
function arrived() {
  linkClicked = -Infinity;
}
