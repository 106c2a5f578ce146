/*
 * All that Streamlit sends with every message of the page: it loads the view itself, which comes once,
 * in the first message of a session, and is asked for again should that message have been lost.
 */

let loading = null;
let loaded = "";

/** The view's module; another script than before means another version of the app on the server. */
function load({ script }) {
  if (script === loaded) return;
  loaded = script;
  loading = import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
}

export default function (component) {
  const [data] = component.data ?? [];
  if (!data) return undefined;
  if (data.code) load(data.code);
  if (!loading) {
    component.setTriggerValue("have", { run: data.run, count: 0, replayed: 0, code: false });
    return undefined;
  }
  return loading.then((view) => view.show(component, data));
}
