/** Starts what scripts add to the pages of the reference. Without them everything can be read; this makes it quick. */

import { startTheme } from "../playground/theme.js";
import { startCalls } from "./calls.js";
import { startSearch } from "./search.js";

/**
 * Links to the one page that the reference was, such as `/docs#createembedding`, lead on to where it stands now.
 * On the first page a line with that id links there.
 */
function followOldLink() {
  if (!document.querySelector("section.card") || location.hash.length < 2) return;
  const link = document.getElementById(location.hash.slice(1))?.querySelector("a");
  if (link) location.replace(link.href);
}

/** On a narrow screen the contents would fill it: they are opened when they are asked for. */
function foldContents() {
  const contents = document.querySelector(".contents details");
  if (contents instanceof HTMLDetailsElement && matchMedia("(max-width: 60rem)").matches) contents.open = false;
}

/** What a link leads to cannot be seen while it is closed: a field's list, or that below the name of a type, is opened. */
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  let list = target?.closest("details") ?? target?.nextElementSibling;
  while (list && !list.matches("h2, details.more, details[open]")) list = list.nextElementSibling;
  if (!(list instanceof HTMLDetailsElement) || list.matches(".call")) return;
  list.open = true;
  target?.scrollIntoView();
}

followOldLink();
addEventListener("hashchange", followOldLink);
addEventListener("hashchange", openTarget);
foldContents();
startTheme();
document.getElementById("theme")?.removeAttribute("hidden");
startCalls();
startSearch();
openTarget();
