// Prints what unfurl.js learns of a page, as JSON.
"use strict";

const { unfurl } = require("unfurl.js");

unfurl(process.argv[2], { oembed: true }).then(
  (learnt) => console.log(JSON.stringify(learnt)),
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
