-- Asks for the paths of a file, one after another, and prints what happened as one line of JSON.
local requests, at = {}, 0

function init(args)
  for path in io.lines(args[1]) do requests[#requests + 1] = wrk.format("GET", path) end
  at = tonumber(args[2]) % #requests
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'result {"requests": %d, "seconds": %f, "refused": %d, "broken": %d, "p50": %f, "p99": %f, "bytes": %d}\n',
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, summary.bytes))
end
