// Opens the API description in Swagger UI.
"use strict";

(() => {
  const description = document.getElementById("description");
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
