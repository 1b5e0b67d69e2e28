// Calls XRPC queries by the official client, which checks each answer by the method's lexicon.
//
// Reads from standard input: {"service": url, "lexicons": [...], "calls": [{"method", "params", "headers"}, ...]}.
// Prints what each call came to: {"data": ...}, or {"status", "error", "message"}.
import { text } from 'node:stream/consumers'

import { parseLexiconDoc } from '@atproto/lexicon'
import { XRPCError, XrpcClient } from '@atproto/xrpc'

const { service, lexicons, calls } = JSON.parse(await text(process.stdin))
const client = new XrpcClient(service, lexicons.map(parseLexiconDoc))

const call = async ({ method, params, headers }) => {
  try {
    client.lex.assertValidXrpcParams(method, params)
    return { data: (await client.call(method, params, undefined, { headers })).data }
  } catch (error) {
    if (!(error instanceof XRPCError)) throw error
    return { status: error.status, error: error.error, message: error.message }
  }
}
const told = []
for (const one of calls) told.push(await call(one))
console.log(JSON.stringify(told))
