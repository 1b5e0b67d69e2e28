// The buttons that copy a field's text. Without this script the texts can be selected.
"use strict";

(() => {
  const start = (root) => {
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
