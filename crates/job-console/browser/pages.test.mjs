// Every page that links and filters lead to: it loads without an error, asks no other host, can be
// reloaded, and passes the accessibility rules in both themes and both languages.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { violations } from './axe.mjs'
import { crawl, kindOf, opens } from './crawl.mjs'
import { Console, browser, tab } from './harness.mjs'

const DESK = { width: 1440, height: 900 }
const PHONE = { width: 360, height: 740 }

let running
let chromium
/** Addresses of the pages. */
let pages

before(async () => {
  running = await Console.start()
  chromium = await browser()
  pages = await crawl(chromium, running.address)
})

after(async () => {
  await chromium?.close()
  await running?.end()
})

test('links lead to all sections', () => {
  const kinds = new Set(pages.map(kindOf))
  for (const section of ['jobs', 'servers', 'groups', 'running', 'alerts', 'timeline', 'doctor', 'audit', 'registry', 'transfer', 'about']) {
    const has = [...kinds].some((kind) => new RegExp(`/${section}\\b`).test(kind))
    assert.ok(has, `no link leads to ${section}: ${[...kinds].join(' ')}`)
  }
})

/** Returns the title and the heading of a page. Headings may count jobs of a state, which change. */
function shown(page) {
  return page.$eval('main', (main) => [document.title, main.querySelector('h1')?.innerText.replace(/\d+/g, 'n')])
}

for (const language of ['en', 'zh']) {
  test(`each page in ${language} asks no other host, fits a phone, can be reloaded and passes the accessibility rules`, async () => {
    const page = await tab(chromium, DESK)
    await page.setExtraHTTPHeaders({ 'accept-language': language })
    page.requests = []
    const findings = []
    for (const address of pages) {
      if (!await opens(page, () => page.goto(address))) continue
      assert.equal(await page.$eval('html', (html) => html.lang.slice(0, 2)), language)
      findings.push(...await violations(page))
      await page.setViewport(PHONE)
      const [scroll, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
      if (scroll > width) findings.push(`${address} is ${scroll} pixels wide on a screen of ${width}`)
      await page.setViewport(DESK)
      const before = await shown(page)
      assert.ok(before[1], `${address} has no heading`)
      if (!await opens(page, () => page.reload())) continue
      assert.equal(page.url(), address)
      assert.deepEqual(await shown(page), before, address)
    }
    assert.deepEqual(findings, [])
    const foreign = page.requests.filter((url) => !url.startsWith(running.address) && !url.startsWith('data:'))
    assert.deepEqual(foreign, [])
    await page.close()
  })
}

for (const language of ['en', 'zh']) {
  test(`errors, dialogs and outcomes in ${language} pass the accessibility rules`, async () => {
    const page = await tab(chromium, DESK)
    await page.setExtraHTTPHeaders({ 'accept-language': language })
    const home = `${running.address}/n/demo`
    const findings = []
    const missing = await page.goto(`${home}/jobs/no-such-job`)
    assert.equal(missing.status(), 404)
    findings.push(...await violations(page))
    await page.goto(`${home}/jobs/heartbeat`)
    await page.click('#acts a[href$="act/run"]')
    await page.waitForSelector('dialog[open] #act-title')
    findings.push(...await violations(page))
    await page.goto(`${home}/act/run?q=heartbeat`)
    await page.type('main [name=why]', 'to see the outcome')
    await Promise.all([page.waitForNavigation(), page.click('main form.act button[type=submit]')])
    assert.match(page.url(), /\/outcome\?/)
    findings.push(...await violations(page))
    for (const query of ['join=10.0.0.14&joining=zone%3Da&disable=10.0.0.11', 'join=x', 'leave=10.0.0.77@-@7']) {
      await page.goto(`${home}/jobs/daily-report/placement?${query}`)
      findings.push(...await violations(page))
    }
    assert.equal(await page.$eval('html', (html) => html.lang.slice(0, 2)), language)
    assert.deepEqual(findings, [])
    // The browser logs the answer with the status 404 as an error.
    assert.deepEqual(page.faults.filter((fault) => !fault.includes('no-such-job')), [])
    await page.close()
  })
}

test('pages can be read without scripts', async () => {
  const page = await tab(chromium)
  await page.setJavaScriptEnabled(false)
  for (const address of pages) {
    if (!await opens(page, () => page.goto(address))) continue
    assert.ok((await page.$eval('main', (main) => main.textContent)).trim().length > 0, address)
  }
  await page.close()
})

test('a dry run of a placement is computed without scripts', async () => {
  const page = await tab(chromium)
  await page.setJavaScriptEnabled(false)
  await page.goto(`${running.address}/n/demo/jobs/daily-report/placement`)
  await page.type('#plan-join', '10.0.0.14')
  await page.type('#plan-joining', 'zone=b disk=ssd')
  await page.click('#plan-disable li:first-child label')
  await Promise.all([page.waitForNavigation(), page.click('form.plan button')])
  const plan = await page.$eval('[aria-labelledby=plan-owners]', (table) => table.textContent)
  assert.match(plan, /10\.0\.0\.14@-@new-1/)
  await page.click('form.plan .acts a')
  await page.waitForSelector('#plan-join[value=""]')
  await page.close()
})
