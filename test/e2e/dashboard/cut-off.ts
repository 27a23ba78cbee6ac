/**
 * An expression for the page: the controls and texts of which a part cannot be seen, because they reach beyond the window or are cut by an element
 * around them. A text may end in an ellipsis, if its title has the rest; code may be scrolled.
 */
export const CUT_OFF = `(() => {
  const width = document.documentElement.clientWidth;
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.closest("pre") === null;
  const isTitled = (element) => element.closest("[title]") !== null || element.querySelector("[title]") !== null;
  const beyond = (inner, outer) => inner.left < outer.left - 1 || inner.right > outer.right + 1;
  const faultOf = (element, box) => {
    if (box.width < 2 || !isSeen(element)) return null;
    for (let around = element; around !== document.body && around !== null; around = around.parentElement) {
      const { overflowX, textOverflow, clipPath } = getComputedStyle(around);
      // For screen readers only.
      if (clipPath === "inset(50%)") return null;
      if (overflowX === "visible" || !beyond(box, around.getBoundingClientRect())) continue;
      if (textOverflow === "ellipsis") return isTitled(around) ? null : "has no title";
      return overflowX === "auto" || overflowX === "scroll" ? "must be scrolled to" : "is cut";
    }
    return beyond(box, { left: 0, right: width }) ? "is beyond the window" : null;
  };
  const told = (element, box) => {
    const fault = faultOf(element, box);
    return fault === null ? [] : [(element.getAttribute("aria-label") ?? element.textContent).trim().slice(0, 60) + " " + fault];
  };
  const controls = [...document.querySelectorAll("a, button, input, select, textarea")];
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (walker.currentNode.data.trim() !== "") texts.push(walker.currentNode);
  const boxOf = (text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    return range.getBoundingClientRect();
  };
  return [...new Set([
    ...controls.flatMap((control) => told(control, control.getBoundingClientRect())),
    ...texts.flatMap((text) => told(text.parentElement, boxOf(text))),
  ])];
})()`;
