// A user signs in at an identity provider, is named in the audit records, and signs out.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Ejob, PATIENCE, browser, tab } from './harness.mjs'
import { startProvider } from './provider.mjs'

const JOBS = `
[[jobs]]
name = "count"
sharding_total_count = 1
cron = "0 0 0 1 1 ? 2090"
script = { shell = "true" }
`

let folder
let provider
let worker
let running
let chromium
/** Address of the console, as browsers reach it. */
let address

/** Returns a port that is free at the moment: the provider has to know the console's address. */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ejob-oidc-'))
  const port = await freePort()
  const origin = `http://localhost:${port}`
  address = `${origin}/ejob`
  provider = await startProvider(`${address}/sign-in/oidc/callback`)
  const registry = `sqlite:${join(folder, 'registry.db')}`
  await writeFile(join(folder, 'jobs.toml'), JOBS)
  await writeFile(join(folder, 'secret'), 's3cret-of-the-console\n', { mode: 0o600 })
  const settings = `
prefix = "/ejob"
[access.oidc]
issuer = "${provider.issuer}"
client_id = "ejob"
client_secret = "\${file:${join(folder, 'secret')}}"
address = "${origin}"
scopes = ["groups"]
label = "Acme"
roles.ops = { role = "operator" }
[[namespaces]]
name = "orders"
registry = "${registry}"
`
  await writeFile(join(folder, 'console.toml'), settings)
  worker = await Ejob.start(/ready.*/, 'worker', join(folder, 'jobs.toml'), '--registry', registry)
  const file = join(folder, 'console.toml')
  const words = ['console', '--listen', `127.0.0.1:${port}`, '--file', file]
  running = await Ejob.start(/http:\/\/127\.0\.0\.1:\d+\S*/, ...words)
  chromium = await browser()
})

after(async () => {
  await chromium?.close()
  await running?.end()
  await worker?.end()
  await endProvider()
  await rm(folder, { recursive: true, force: true })
})

async function endProvider() {
  if (!provider?.server.listening) return
  provider.server.closeAllConnections()
  provider.server.close()
  await once(provider.server, 'close')
}

/** Submits the form of a page, and waits for the next page. */
async function submit(page, selector = 'button[type=submit]') {
  await Promise.all([page.waitForNavigation(), page.click(selector)])
}

/** Fills in the pages of the provider: a login with any password, and the consent. */
async function signInAtProvider(page, user) {
  assert.ok(page.url().startsWith(`${provider.issuer}/interaction/`), page.url())
  await page.type('[name=login]', user)
  await page.type('[name=password]', 'any')
  await submit(page)
  await submit(page)
}

test('a user of a provider signs in, acts under the own name, and signs out', async () => {
  const page = await tab(chromium)
  await page.goto(`${address}/n/orders/jobs/count`)
  assert.match(page.url(), /\/ejob\/sign-in\?next=/)
  assert.equal(await page.$eval('main a.button', (link) => link.innerText), 'Sign in with Acme')
  await submit(page, 'main a.button')
  await signInAtProvider(page, 'anna')
  assert.equal(page.url(), `${address}/n/orders/jobs/count`)
  assert.match(await page.$eval('.who summary', (menu) => menu.innerText), /^anna/)

  await page.click('a[href*="act/pause"]')
  await page.waitForSelector('dialog[open] #act-why')
  await page.type('#act-why', 'signed in at the provider')
  await submit(page, 'dialog[open] button[type=submit]')
  await page.goto(`${address}/n/orders/audit`)
  const audit = await page.$eval('main', (main) => main.innerText)
  assert.match(audit, /anna/)
  assert.match(audit, /signed in at the provider/)

  await page.click('.who summary')
  await page.click('.who [formaction]')
  // The page of the console leads to that of the provider, which asks.
  await page.waitForFunction((issuer) => location.href.startsWith(issuer), {}, provider.issuer)
  await page.waitForSelector('[name=logout]')
  await submit(page, '[name=logout]')
  assert.equal(page.url(), `${address}/sign-in`)
  await page.goto(`${address}/n/orders`)
  assert.match(page.url(), /\/ejob\/sign-in\?next=/)
  // The provider's own pages ask for fonts of the internet, and have no icon.
  const isOfProvider = (fault) => fault.includes(provider.issuer) || fault.includes('fonts.google')
  assert.deepEqual(page.faults.filter((fault) => !isOfProvider(fault)), [])
  await page.close()
})

/** Signs in in a browser of its own, which no session has, and returns where that ends. */
async function signIn(user) {
  const context = await chromium.createBrowserContext()
  const page = await context.newPage()
  await page.goto(`${address}/n/orders`)
  await submit(page, 'main a.button')
  await signInAtProvider(page, user)
  const end = { address: page.url(), text: await page.$eval('main', (main) => main.innerText) }
  await page.goto(`${address}/n/orders`)
  end.isSignedIn = !page.url().includes('/sign-in')
  await context.close()
  return end
}

test('a token with a key that the provider has rotated in is accepted', async () => {
  assert.equal((await signIn('bob')).address, `${address}/n/orders`)
  const { port } = provider.server.address()
  await endProvider()
  provider = await startProvider(`${address}/sign-in/oidc/callback`, port)
  // The console fetches keys at most once in ten seconds, and has fetched some when it started.
  const until = Date.now() + PATIENCE
  let end = await signIn('bob')
  while (!end.isSignedIn && Date.now() < until) end = await signIn('bob')
  assert.equal(end.address, `${address}/n/orders`)
})

const seconds = Date.now() / 1000
for (const [name, claims] of [
  ['for another sign-in', { nonce: 'of-another' }],
  ['for another client', { aud: 'another' }],
  ['of another provider', { iss: 'http://localhost:1' }],
  ['that has expired', { iat: Math.floor(seconds) - 7200, exp: Math.floor(seconds) - 3600 }],
]) {
  test(`a token ${name} is refused`, async () => {
    provider.claims = claims
    const { text, isSignedIn } = await signIn('eve')
    assert.match(text, /The identity provider's answer is not valid/)
    assert.equal(isSignedIn, false)
    provider.claims = {}
    assert.equal((await signIn('eve')).isSignedIn, true)
  })
}
