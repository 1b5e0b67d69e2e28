// Opens the API description in Swagger UI.
"use strict";

(() => {
  const description = document.getElementById("description");
  const CONTROLS = "select:not([aria-label]), textarea:not([aria-label]), input:not([aria-label])";

  const nameOf = (control) => {
    if (control.id === "servers") return "Server"; // its label is empty
    if (control.labels.length) return "";
    if (control.classList.contains("body-param__text")) return "Request body";
    const named = control.closest("tr")?.querySelector(".parameter__name");
    return named?.firstChild?.textContent.trim() || control.title || control.placeholder;
  };

  // Swagger UI labels few of its controls, and draws them whenever something is opened.
  new MutationObserver(() => {
    for (const control of description.querySelectorAll(CONTROLS)) {
      const name = nameOf(control);
      if (name) control.setAttribute("aria-label", name);
    }
  }).observe(description, { childList: true, subtree: true });

  SwaggerUIBundle({
    url: description.dataset.address,
    domNode: description,
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    validatorUrl: null,
  });
})();
