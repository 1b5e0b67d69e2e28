// A did:plc directory and one or more PDSes on 127.0.0.1, with their data in a temporary folder.
//
// usage: node start.mjs [how many PDSes, default 1]
// Prints one JSON line when everything answers:
// {"plc": url, "pds": [url, ...], "operator": url, "admin_password": "..."}.
// Ends on SIGTERM, SIGINT, or when its standard input closes: it never outlives whoever started it.
// Variables named PDS_* reach every PDS and win over the values below.
import crypto, { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import { enableCompileCache, syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

enableCompileCache(path.join(import.meta.dirname, 'node_modules', '.cache')) // half of what a start costs
process.env.LOG_ENABLED ??= 'false' // read while the packages load, hence the late imports

// A PDS fetches OAuth clients' metadata only over https and from names: port-8123.fmsvc-network.net is 127.0.0.1:8123.
const onLoopback = /^https:\/\/port-(\d+)\.fmsvc-network\.net\//
const realFetch = globalThis.fetch
globalThis.fetch = async (input, init) => {
  const url = input instanceof Request ? input.url : String(input)
  if (!onLoopback.test(url)) return realFetch(input, init)
  const headers = input instanceof Request ? input.headers : init?.headers
  const response = await realFetch(url.replace(onLoopback, 'http://127.0.0.1:$1/'), { headers, redirect: 'manual' })
  // Made anew, because a response remembers the address that it came from.
  return new Response(await response.arrayBuffer(), { status: response.status, headers: response.headers })
}
// Passwords are hashed at every sign-up and sign-in, on purpose slowly; nobody attacks these.
const realScrypt = crypto.scrypt
crypto.scrypt = (password, salt, length, done) => realScrypt(password, salt, length, { N: 2 }, done)
syncBuiltinESMExports()

const { PDS, envToCfg, envToSecrets, readEnv, scripts } = await import('@atproto/pds')
const { PlcServer, Database } = (await import('@did-plc/server')).default

const ADMIN_PASSWORD = 'admin-pass'
const data = mkdtempSync(path.join(os.tmpdir(), 'fmsvc-network-'))
const servers = []
let stopping = false

const stop = async () => {
  if (stopping) return
  stopping = true
  setTimeout(() => process.exit(1), 4000).unref()
  await Promise.allSettled(servers.map((server) => server.destroy()))
  process.exit(0)
}
process.on('exit', () => rmSync(data, { recursive: true, force: true }))
process.on('SIGTERM', stop).on('SIGINT', stop)
process.stdin.on('end', stop).resume()

// A PDS must know its port before it listens, because the port is part of its name.
const freePort = () =>
  new Promise((found, failed) => {
    const probe = net.createServer().once('error', failed)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => found(port))
    })
  })

// Both programs listen on every interface and offer no option for it.
const startOnLoopback = async (server) => {
  const listen = server.app.listen.bind(server.app)
  server.app.listen = (port) => listen(port, '127.0.0.1')
  await server.start()
  servers.push(server)
}

const startDirectory = async () => {
  const port = await freePort()
  await startOnLoopback(PlcServer.create({ db: Database.mock(), port }))
  return `http://localhost:${port}` // a name, because a PDS resolves no identity at an address
}

// A PDS looks for new events ever more seldom, up to a second apart; here what is written wakes it.
const passOnAtOnce = (sequencer) => {
  let unseen = false
  let wake = () => {}
  const sequenceEvts = sequencer.sequenceEvts.bind(sequencer)
  sequencer.sequenceEvts = async (events) => {
    const numbers = await sequenceEvts(events)
    unseen = true
    wake()
    return numbers
  }
  sequencer.exponentialBackoff = async () => {
    if (!unseen) await Promise.race([wait(1000), new Promise((woken) => (wake = woken))])
    unseen = false
  }
}

const startPds = async (number, plc) => {
  const port = await freePort()
  const folder = path.join(data, `pds-${number}`)
  mkdirSync(folder)
  const defaults = {
    hostname: 'localhost', // the one name that a PDS serves without TLS
    devMode: true, // lets identities and OAuth clients be on loopback
    didPlcUrl: plc,
    dataDirectory: folder,
    blobstoreDiskLocation: path.join(folder, 'blobs'),
    blobstoreDiskTmpLocation: path.join(folder, 'blobs-unfinished'),
    blobUploadLimit: 100 * 1024 * 1024,
    serviceHandleDomains: ['.test'],
    inviteRequired: false,
    rateLimitsEnabled: false,
    adminPassword: ADMIN_PASSWORD,
    jwtSecret: randomBytes(16).toString('hex'),
    dpopSecret: randomBytes(32).toString('hex'),
    plcRotationKeyK256PrivateKeyHex: randomBytes(32).toString('hex'),
  }
  const given = Object.entries(readEnv()).filter(([, value]) => value !== undefined)
  const env = { ...defaults, ...Object.fromEntries(given), port }
  const pds = await PDS.create(envToCfg(env), envToSecrets(env))
  passOnAtOnce(pds.ctx.sequencer)
  await startOnLoopback(pds)
  return { url: `http://localhost:${port}`, pds }
}

// What a person finds in their mailbox, and what an operator does at the server's console.
const deeds = {
  'mailed-code': ({ ctx }, did) => ctx.accountManager.createEmailToken(did, 'plc_operation'),
  'rotate-key': async ({ ctx }, did) => {
    const { keyLocation } = await ctx.actorStore.getLocation(did)
    const key = await ctx.actorStore.getReservedKeypair(await ctx.actorStore.reserveKeypair())
    await writeFile(keyLocation, await key.export())
    await scripts['rotate-keys'](ctx, [did])
    return key.did()
  },
  // As if every grant of the account were from so long ago.
  'age-grants': async ({ ctx }, did) => {
    const createdAt = new Date(0).toISOString()
    await ctx.accountManager.db.db
      .updateTable('token')
      .set({ createdAt, updatedAt: createdAt })
      .where('did', '=', did)
      .execute()
    return did
  },
  // Lexicons are looked up in this account's repo, whoever they belong to.
  'lexicon-authority': ({ ctx }, did) => (ctx.cfg.lexicon.didAuthority = did),
  // The server is gone for the network, until it is back where it was.
  'hang-up': ({ server }) => {
    server.close()
    server.closeAllConnections()
    return 'gone'
  },
  'come-back': async ({ server, ctx }) => {
    server.listen(ctx.cfg.service.port, '127.0.0.1')
    await once(server, 'listening')
    return 'back'
  },
}

// POST /<deed>/<number of the PDS, from 0>/<did> answers with text.
const startOperator = async (pdses) => {
  const port = await freePort()
  const server = http.createServer(async (request, response) => {
    const [deed, number, did] = request.url.slice(1).split('/')
    try {
      response.end(await deeds[deed](pdses[number], did))
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  })
  await new Promise((listening) => server.listen(port, '127.0.0.1', listening))
  return `http://127.0.0.1:${port}`
}

const plc = await startDirectory()
const pdses = []
for (let number = 1; number <= Number(process.argv[2] ?? 1); number++) pdses.push(await startPds(number, plc))
const operator = await startOperator(pdses.map(({ pds }) => pds))
const pds = pdses.map(({ url }) => url)
console.log(JSON.stringify({ plc, pds, operator, admin_password: ADMIN_PASSWORD }))
console.log = () => {} // nobody reads on
