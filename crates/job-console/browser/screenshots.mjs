// Makes the pictures of docs/console.md from the demonstration.

import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Console, browser, exported, renamed, tab, usersFile } from './harness.mjs'

/** Maximum size of a picture, in bytes. */
const MAX_BYTES = 150_000

/** Silences an expectation, as an operator would. */
async function silence(page, home) {
  await page.goto(`${home}/alerts`)
  await page.click('a[href$="jobs/price-update/silence?expectation=failures"]')
  await page.waitForSelector('dialog[open] #act-why')
  await page.type('#act-why', 'ben sets the currency back today')
  await Promise.all([page.waitForNavigation(), page.click('dialog[open] button[value=begin]')])
}

/** Shows the plan of an import: one job is new, one differs, and the others are the same. */
async function plan(page, home) {
  await page.goto(`${home}/transfer`)
  const { export: all } = await exported(home)
  const jobs = all.jobs.map((one) => (
    one.job === 'price-update' ? { ...one, document: one.document.replace('EURO', 'EUR') } : one
  ))
  const document = { ...all, jobs: [...jobs, renamed(all, 'daily-report', 'weekly-report')] }
  await page.click('#import-document')
  await page.keyboard.sendCharacter(JSON.stringify(document))
  await page.click('#import-overwrite')
  await Promise.all([page.waitForNavigation(), page.click('main button[value=preview]')])
}

const PICTURES = [
  { name: 'overview', path: '' },
  { name: 'job', path: '/jobs/price-update' },
  { name: 'jobs-dark', path: '/jobs', theme: 'dark' },
  { name: 'job-phone', path: '/jobs/price-update', theme: 'dark', width: 360, height: 740 },
  { name: 'timeline', path: '/timeline' },
  { name: 'alerts', path: '/alerts', prepare: silence },
  { name: 'transfer', prepare: plan },
]

async function picture(chromium, folder, { name, address, prepare, ...options }) {
  const page = await tab(chromium, { width: 1280, height: 800, ...options })
  await page.bringToFront()
  await prepare?.(page)
  if (address) await page.goto(address)
  const path = join(folder, `${name}.webp`)
  await page.screenshot({ path, quality: 90 })
  const { size } = await stat(path)
  if (size > MAX_BYTES) throw new Error(`${path} has ${size} bytes; valid are up to ${MAX_BYTES}`)
  await page.close()
}

const folder = process.argv[2]
await mkdir(folder, { recursive: true })
const private_ = await mkdtemp(join(tmpdir(), 'ejob-pictures-'))
let running
let locked
let chromium
try {
  running = await Console.start()
  locked = await Console.start('--demo', '--users', await usersFile(private_, 'shown in no picture'))
  chromium = await browser()
  const first = await tab(chromium)
  await first.goto(`${running.address}/`)
  const home = first.url().replace(/\/$/, '')
  // The jobs of the demonstration have failed and hung at this point.
  await first.goto(`${home}/jobs/price-update`)
  await first.waitForSelector('.st.fail')
  await first.goto(`${home}`)
  await first.waitForFunction(() => document.querySelectorAll('main tbody tr').length >= 3)
  for (const { path, prepare, ...options } of PICTURES) {
    const address = path === undefined ? undefined : `${home}${path}`
    await picture(chromium, folder, { address, prepare: prepare && ((page) => prepare(page, home)), ...options })
  }
  await picture(chromium, folder, { name: 'sign-in', address: `${locked.address}/`, width: 640, height: 400 })
} finally {
  await chromium?.close()
  await locked?.end()
  await running?.end()
  await rm(private_, { recursive: true, force: true })
}
