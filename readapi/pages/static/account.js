// The copy button, and notes that are told once. Without this script the pages of signing in do all the rest.
"use strict";

(() => {
  for (const button of document.querySelectorAll("[data-copies]")) {
    const copied = button.parentElement.querySelector("[data-copied]");
    const field = document.getElementById(button.dataset.copies);
    button.hidden = false;
    button.addEventListener("click", async () => {
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
        copied.textContent = "Copied.";
      } catch {
        copied.textContent = "Your browser does not let this page copy; the token is selected.";
      }
    });
  }
  // What an address told was told now, and what it was exchanged for is in the page: loading it again must
  // not tell it again.
  const address = new URL(location);
  for (const told of ["note", "exchange_token"]) address.searchParams.delete(told);
  history.replaceState(null, "", address);
})();
