/* A button that copies a text, and shows it for copying by hand where the browser forbids that. */

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no permission, or the page came over plain http from another machine
  }
}

function make(tag, name, parent) {
  const element = document.createElement(tag);
  element.className = name;
  return parent.appendChild(element);
}

export default function ({ parentElement, data }) {
  const [label, text, remark] = data;
  const button = parentElement.querySelector("button") ?? make("button", "copy", parentElement);
  const field = parentElement.querySelector("input") ?? make("input", "by-hand", parentElement);
  const said = parentElement.querySelector("p") ?? make("p", "said", parentElement);
  const rest = () => {
    button.textContent = label;
    said.textContent = remark;
  };
  button.type = "button";
  said.setAttribute("role", "status");
  field.readOnly = true;
  field.setAttribute("aria-label", label);
  if (field.value !== text) field.hidden = true;
  field.value = text;
  if (field.hidden) rest();
  button.onclick = async () => {
    if (await copied(text)) {
      button.textContent = "Copied";
      setTimeout(rest, 2000);
      return;
    }
    field.hidden = false;
    field.select();
    said.textContent = "The browser does not let this page copy. The link is selected: press Ctrl+C.";
  };
}
