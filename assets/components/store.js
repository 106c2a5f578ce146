/* The rounds of each run, kept in the browser and only ever added to, and who moved the cursor last. */

const VERDICT = { KEPT: 0, REJECTED: 1, UNTESTED: 2, UNNEEDED: 3, BONUS: 4, NONE: 5 };
const SOURCE = { KEPT: 0, CORRECTION: 1, BONUS: 2 };
const RUNS_KEPT = 4;
const REPORT_AFTER = 180;
const ASK_AGAIN_AFTER = 1500;
const REST_AFTER = 250;

/** Runs by name, the latest last. They outlive a view that is taken away and mounted again. */
const RUNS = new Map();

function storeOf(run) {
  const store = RUNS.get(run) ?? {
    run,
    rounds: [],
    replay: [],
    details: new Map(),
    seq: -1,
    cursor: { round: -1, place: null },
  };
  RUNS.delete(run);
  RUNS.set(run, store);
  while (RUNS.size > RUNS_KEPT) RUNS.delete(RUNS.keys().next().value);
  return store;
}

/** Takes in a part of an append-only list; false if something before it is missing. */
function extend(list, part) {
  if (part.base > list.length) return false;
  part.append.forEach((item, offset) => (list[part.base + offset] = item));
  return true;
}

/**
 * Takes in one message.
 * @returns {{store: object, complete: boolean, moved: boolean}} `moved`: the page moved the cursor
 */
function receive(data) {
  const store = storeOf(data.run);
  const complete = [extend(store.rounds, data), extend(store.replay, data.replay)].every(Boolean);
  if (data.detail) store.details.set(`${data.detail.round}/${data.detail.place}`, data.detail);
  const moved = complete && data.cursor.seq > store.seq;
  if (moved) {
    store.seq = data.cursor.seq;
    store.cursor = { round: data.cursor.round, place: data.cursor.place };
  }
  return { store, complete, moved };
}

/** Asks for what is missing, and again until it has come: an answer may get lost like any other message. */
function askForMissing(view) {
  const { run, rounds, replay } = view.store;
  const have = { run, count: rounds.length, replayed: replay.length };
  const question = JSON.stringify(have);
  if (view.question === question) return;
  stopAsking(view);
  view.question = question;
  const ask = () => {
    if (!leaving()) view.component.setTriggerValue("have", have);
    view.asking = setTimeout(ask, ASK_AGAIN_AFTER);
  };
  ask();
}

function stopAsking(view) {
  clearTimeout(view.asking);
  view.question = null;
}

/** Asks for the full record of a place, unless it is here. */
function askForDetail(view, round, place) {
  if (!view.store.details.has(`${round}/${place}`)) {
    view.component.setTriggerValue("open", { run: view.store.run, round, place });
  }
}

/** Tells the page where the reader is, now or once they have come to rest. */
function report(view, now = false) {
  clearTimeout(view.reporting);
  const { run, seq } = view.store;
  const tell = () => {
    if (view.store.run !== run || view.store.seq !== seq) return;
    if (leaving()) view.reporting = setTimeout(tell, REPORT_AFTER);
    else view.component.setStateValue("cursor", { run, seq, ...view.store.cursor });
  };
  if (now) tell();
  else view.reporting = setTimeout(tell, REPORT_AFTER);
}

/**
 * Tells the page, once a new round or cursor is painted and the reader stays there, that it may go
 * about its slower work. Nothing is told while the reader drags, or if the page does not ask for it.
 */
function tellOfRest(view) {
  const { run, cursor, rounds } = view.store;
  const here = view.data.rest ? `${run}/${cursor.round}/${rounds.length}` : null;
  if (view.restingAt === here) return;
  view.restingAt = here;
  clearTimeout(view.resting);
  const tell = () => {
    if (view.dragging || leaving()) view.resting = setTimeout(tell, REST_AFTER);
    else view.component.setTriggerValue("rest", true);
  };
  const wait = () => {
    if (here !== null && view.restingAt === here) view.resting = setTimeout(tell, REST_AFTER);
  };
  requestAnimationFrame(() => requestAnimationFrame(wait));
}

const currentRound = (view) => view.store.rounds[view.store.cursor.round];

/** Times to show for a round: the replay's where there is one. */
const timesOf = (view, round) => view.store.replay[round.i] ?? round.times;

/** The place to look at: the reader's, else the first that fell, else the last. */
function placeInView(view) {
  const round = currentRound(view);
  if (!round) return null;
  const { place } = view.store.cursor;
  if (place !== null && place < round.places.length) return place;
  const fell = round.places.findIndex((each) => each.v === VERDICT.REJECTED);
  return fell < 0 ? round.out.length - 1 : fell;
}

/** What stands at a place of a round: its draft, and the token emitted there, if any. */
function standing(round, place) {
  return { drafted: round.places[place], emitted: round.out[place] ?? null };
}
