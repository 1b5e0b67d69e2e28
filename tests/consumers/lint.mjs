// What Redocly and Spectral, each with its recommended rules, say of the API description in the file that is named.
import { readFile } from "node:fs/promises";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectral from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";

const path = process.argv[2];
const text = await readFile(path, "utf8");

// Four paths end in a slash because the published clients of this interface ask for them so.
const config = await createConfig({ extends: ["recommended"], rules: { "no-path-trailing-slash": "off" } });
const redocly = (await lintFromString({ source: text, absoluteRef: path, config })).map((problem) => ({
  linter: "redocly",
  rule: problem.ruleId,
  isError: problem.severity === "error",
  message: problem.message,
  at: problem.location[0]?.pointer,
}));

const linter = new spectral.Spectral();
linter.setRuleset({ extends: [[rulesets.oas, "recommended"]] });
const complaints = (await linter.run(text)).map((problem) => ({
  linter: "spectral",
  rule: problem.code,
  isError: problem.severity === 0,
  message: problem.message,
  at: problem.path.join("/"),
}));

console.log(JSON.stringify([...redocly, ...complaints]));
