// Pages stay current: across tabs, with many tabs, and after the end of the console.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, browser, tab } from './harness.mjs'

let running
let chromium
/** Address of the first page, which is that of the namespace. */
let home

before(async () => {
  running = await Console.start()
  chromium = await browser()
  const page = await tab(chromium)
  await page.goto(`${running.address}/`)
  home = page.url().replace(/\/$/, '')
  await page.close()
})

after(async () => {
  await chromium?.close()
  await running?.end()
})

/** Waits until the text of the main part matches. */
async function shows(page, pattern) {
  const { source, flags } = pattern
  await page.waitForFunction(
    (source, flags) => new RegExp(source, flags).test(document.querySelector('main').innerText),
    {},
    source,
    flags,
  )
}

test('a change in one browser appears in another one without a reload', async () => {
  const other = await browser()
  const watching = await tab(other)
  await watching.goto(`${home}/audit`)
  await watching.evaluate(() => { window.sameDocument = true })

  const acting = await tab(chromium)
  await acting.goto(`${home}/jobs/newsletter`)
  await acting.click('a[href*="act/resume"]')
  await acting.waitForSelector('dialog[open] #act-why')
  await acting.type('#act-why', 'tested in a browser')
  await Promise.all([acting.waitForNavigation(), acting.click('dialog[open] button[type=submit]')])

  await watching.waitForFunction(() => document.body.innerText.includes('tested in a browser') || !document.getElementById('more').hidden)
  assert.ok(await watching.evaluate(() => window.sameDocument), 'the page was not loaded again')
  assert.deepEqual([...watching.faults, ...acting.faults], [])
  await other.close()
  await acting.close()
})

test('a dialog is left by Escape and nothing is changed', async () => {
  const page = await tab(chromium)
  await page.goto(`${home}/jobs/newsletter`)
  const before = await page.$eval('main h1', (title) => title.innerText)
  await page.click('a[href*="act/"]')
  await page.waitForSelector('dialog[open] #act-why')
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => !document.querySelector('dialog[open]'))
  assert.equal(await page.$eval('main h1', (title) => title.innerText), before)
  await page.close()
})

test('the thirteenth tab loads beside twelve', async () => {
  const tabs = []
  for (let n = 0; n < 13; n += 1) {
    const page = await tab(chromium)
    await page.bringToFront()
    await page.goto(`${home}/jobs`)
    await shows(page, /newsletter/)
    tabs.push(page)
  }
  for (const page of tabs) await page.close()
})

test('a page says that the console is gone and since when', async () => {
  const short = await Console.start()
  const page = await tab(chromium)
  await page.bringToFront()
  await page.goto(`${short.address}/`)
  assert.ok(await page.$eval('#cut', (banner) => banner.hidden))
  await short.end('SIGKILL')
  await page.waitForFunction(() => !document.getElementById('cut').hidden)
  assert.match(await page.$eval('#cut', (banner) => banner.innerText), /\d/)
  await page.close()
})
