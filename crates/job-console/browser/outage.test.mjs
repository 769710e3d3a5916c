// A page during an outage of the registry: it says so in time, and is right again in time.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browser, tab } from './harness.mjs'
import { Namespace } from './registry.mjs'

/** Longest time until the page shows the begin or the end of an outage, in milliseconds. */
const LIMIT = 2_000

let namespace
let chromium

before(async () => {
  namespace = await Namespace.start()
  chromium = await browser()
})

after(async () => {
  await chromium?.close()
  await namespace?.end()
})

/** Returns the time that a page needs to satisfy a condition, in milliseconds. */
async function timeUntil(page, action, condition) {
  const began = performance.now()
  await action()
  await page.waitForFunction(condition)
  return performance.now() - began
}

test('a page on which nothing changes stays live', async () => {
  const page = await tab(chromium)
  await page.goto(`${namespace.home}/audit`)
  await page.waitForFunction((limit) => performance.now() > 2 * limit, {}, LIMIT)
  assert.ok(await page.$('#fresh.ok'), await page.$eval('#fresh', (fresh) => fresh.innerText))
  assert.ok(await page.$eval('#cut', (banner) => banner.hidden))
  assert.deepEqual(page.faults, [])
  await page.close()
})

test('the begin and the end of an outage are shown within two seconds', async () => {
  const page = await tab(chromium)
  await page.goto(`${namespace.home}/jobs/report`)
  await page.waitForFunction(() => document.querySelector('#fresh.ok'))
  const cut = await timeUntil(
    page,
    () => namespace.proxy.cut(),
    () => document.querySelector('#banner p.banner [data-rel]')?.textContent.match(/\d/),
  )
  assert.ok(cut <= LIMIT, `the banner appeared after ${cut} ms`)
  assert.ok(await page.$('#fresh.warn'), 'the age of the data warns')
  assert.equal(await namespace.ejob('pause', 'report', '--why', 'during the outage'), 0)
  assert.equal(await page.$eval('#state', (state) => /paused/i.test(state.innerText)), false)
  const healed = await timeUntil(
    page,
    () => namespace.proxy.heal(),
    () => !document.querySelector('#banner p') && /paused/i.test(document.querySelector('#state').innerText),
  )
  assert.ok(healed <= LIMIT, `the page was right again after ${healed} ms`)
  assert.ok(await page.$('#fresh.ok'))
  assert.deepEqual(page.faults, [])
  await page.close()
})
