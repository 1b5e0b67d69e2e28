// The buttons that copy a field's text, and the size of an embedded player in it. Without this script the texts can be
// selected.
"use strict";

(() => {
  const start = (root) => {
    for (const box of root.querySelectorAll("[data-sizes]")) {
      const [choice, field] = [box.querySelector("select"), box.parentElement.querySelector("textarea")];
      box.hidden = false;
      choice.addEventListener("change", () => {
        const [width, height] = choice.value.split(" ");
        field.value = field.value.replace(/ width="\d+" height="\d+"/, ` width="${width}" height="${height}"`);
      });
      choice.dispatchEvent(new Event("change")); // browsers remember what was chosen when one comes back
    }
    for (const button of root.querySelectorAll("[data-copies]")) {
      const copied = button.parentElement.querySelector("[data-copied]");
      const field = document.getElementById(button.dataset.copies);
      button.hidden = false;
      button.addEventListener("click", async () => {
        field.select();
        try {
          await navigator.clipboard.writeText(field.value);
          copied.textContent = "Copied.";
        } catch {
          copied.textContent = "Your browser does not let this page copy; the text is selected.";
        }
      });
    }
  };
  start(document);
  document.addEventListener("shown", (event) => start(event.target));
})();
