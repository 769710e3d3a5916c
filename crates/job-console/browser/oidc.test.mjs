// A user signs in at an identity provider, is named in the audit records, and signs out.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Ejob, browser, tab } from './harness.mjs'
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
  provider?.server.closeAllConnections()
  provider?.server.close()
  await rm(folder, { recursive: true, force: true })
})

/** Submits the form of a page, and waits for the next page. */
async function submit(page, selector = 'button[type=submit]') {
  await Promise.all([page.waitForNavigation(), page.click(selector)])
}

test('a user of a provider signs in, acts under the own name, and signs out', async () => {
  const page = await tab(chromium)
  await page.goto(`${address}/n/orders/jobs/count`)
  assert.match(page.url(), /\/ejob\/sign-in\?next=/)
  assert.equal(await page.$eval('main a.button', (link) => link.innerText), 'Sign in with Acme')
  await submit(page, 'main a.button')
  // The pages of the provider: a login with any password, and the consent.
  assert.ok(page.url().startsWith(`${provider.issuer}/interaction/`), page.url())
  await page.type('[name=login]', 'anna')
  await page.type('[name=password]', 'any')
  await submit(page)
  await submit(page)
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
