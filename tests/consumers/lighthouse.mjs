// Prints Lighthouse's scores of pages, and the failed audits of all but performance, as JSON by address.
// node lighthouse.mjs CHROMIUM ADDRESS…
//
// Performance is that of a mid-range phone, whatever machine measures. Lighthouse multiplies the durations of the page's
// work by a slowdown, which is to be calibrated by the machine's `environment.benchmarkIndex`
// (https://github.com/GoogleChrome/lighthouse/blob/main/docs/throttling.md#calibrating-the-cpu-slowdown): by default
// it is 4, which is meant for an index of 1500 or more. Here it follows from the index of the run before, by the
// figures of the calculator that this document recommends, and linearly between them. The index tells of other
// work on the machine too, which slows the page as it slows the benchmark.
//
// Each page is asked for twice before it is measured, and measured up to five times; the best run counts, since
// whatever else happens on the machine only ever lowers a score.
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";

const SLOWDOWNS = [[150, 1], [800, 2], [1300, 3], [2000, 6]]; // by benchmarkIndex
const GOOD = 95;
const MOST_RUNS = 5;

const slowdownFor = (index) => {
  const [[lowest, least]] = SLOWDOWNS;
  if (index <= lowest) return least; // slower than the phone: its scores are too low
  const above = SLOWDOWNS.findIndex(([bound]) => index <= bound);
  if (above < 0) return SLOWDOWNS.at(-1)[1];
  const [[from, low], [to, high]] = SLOWDOWNS.slice(above - 1, above + 1);
  return low + ((high - low) * (index - from)) / (to - from);
};

const [chromePath, ...addresses] = process.argv.slice(2);
const onlyCategories = ["performance", "accessibility", "seo"];
const chromeFlags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio"];
const chrome = await launch({ chromePath, chromeFlags });

const run = async (address, cpuSlowdownMultiplier) => {
  const flags = { port: chrome.port, onlyCategories, logLevel: "error", throttling: { cpuSlowdownMultiplier } };
  const { lhr } = await lighthouse(address, flags);
  const scores = onlyCategories.map((name) => [name, Math.round(100 * lhr.categories[name].score)]);
  const counted = ["accessibility", "seo"].flatMap((name) => lhr.categories[name].auditRefs).filter(({ weight }) => weight);
  const failed = counted.filter(({ id }) => (lhr.audits[id].score ?? 1) < 0.9).map(({ id }) => id);
  const cost = (id) => Number(lhr.audits[id].numericValue.toFixed(2));
  const costs = { blocked: cost("total-blocking-time"), painted: cost("largest-contentful-paint"), moved: cost("cumulative-layout-shift") };
  return { ...Object.fromEntries(scores), failed, ...costs, slowdown: cpuSlowdownMultiplier, index: lhr.environment.benchmarkIndex };
};

const told = {};
try {
  let { index } = await run(addresses[0], slowdownFor(0));
  for (const address of addresses) {
    for (const _ of [1, 2]) await (await fetch(address, { headers: { Accept: "text/html" } })).text();
    for (let runs = 0; runs < MOST_RUNS && !(told[address]?.performance >= GOOD); runs++) {
      const scores = await run(address, slowdownFor(index));
      index = scores.index;
      if (!(told[address]?.performance > scores.performance)) told[address] = scores;
    }
  }
} finally {
  chrome.kill();
}
console.log(JSON.stringify(told));
