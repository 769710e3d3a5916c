// Every page that links and filters lead to: it loads without an error, asks no other host, can be
// reloaded, and passes the accessibility rules in both themes and both languages.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { crawl, kindOf } from './crawl.mjs'
import { Console, browser, tab } from './harness.mjs'

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
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
  for (const section of ['jobs', 'servers', 'running', 'alerts', 'timeline', 'doctor', 'audit', 'transfer', 'about']) {
    const has = [...kinds].some((kind) => new RegExp(`/${section}\\b`).test(kind))
    assert.ok(has, `no link leads to ${section}: ${[...kinds].join(' ')}`)
  }
})

/** Returns the broken accessibility rules of a page in a theme. */
async function violations(page, theme) {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
  // A colour that is still changing has another contrast.
  await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)))
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ['violations'] }))
  return violations.map(({ id, nodes }) => {
    const shown = nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')
    return `${page.url()}: ${theme}: ${id}: ${shown}`
  })
}

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
      await page.goto(address)
      assert.equal(await page.$eval('html', (html) => html.lang.slice(0, 2)), language)
      await page.evaluate(AXE)
      for (const theme of ['light', 'dark']) findings.push(...await violations(page, theme))
      await page.setViewport(PHONE)
      const [scroll, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
      if (scroll > width) findings.push(`${address} is ${scroll} pixels wide on a screen of ${width}`)
      await page.setViewport(DESK)
      const before = await shown(page)
      assert.ok(before[1], `${address} has no heading`)
      await page.reload()
      assert.equal(page.url(), address)
      assert.deepEqual(await shown(page), before, address)
    }
    assert.deepEqual(findings, [])
    const foreign = page.requests.filter((url) => !url.startsWith(running.address) && !url.startsWith('data:'))
    assert.deepEqual(foreign, [])
    await page.close()
  })
}

test('pages can be read without scripts', async () => {
  const page = await tab(chromium)
  await page.setJavaScriptEnabled(false)
  for (const address of pages) {
    await page.goto(address)
    assert.ok((await page.$eval('main', (main) => main.textContent)).trim().length > 0, address)
  }
  await page.close()
})
