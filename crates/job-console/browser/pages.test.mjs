// Every page that links lead to: it loads without an error, asks no other host, can be reloaded, and
// passes the accessibility rules in both themes and both languages.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { Console, browser, tab } from './harness.mjs'

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Most pages of one kind that are visited, such as pages of jobs. */
const OF_A_KIND = 2

let running
let chromium
/** Addresses of the pages, found by following links. */
let pages

before(async () => {
  running = await Console.start()
  chromium = await browser()
  pages = await crawled()
})

after(async () => {
  await chromium?.close()
  await running?.end()
})

/** Returns the kind of a page: its path with the names replaced, and the names of its parameters. */
function kindOf(address) {
  const { pathname, searchParams } = new URL(address)
  const path = pathname.replace(/(\/(?:n|jobs|servers|items|runs)\/)[^/]+/g, '$1…')
  return `${path}?${[...searchParams.keys()].sort()}`
}

/** Follows links from the first page, at most a few of each kind. */
async function crawled() {
  const page = await tab(chromium)
  const linksOf = async () => {
    // A download is no page.
    const links = await page.$$eval('a[href]:not([download])', (links) => links.map((link) => link.href))
    return links.map((link) => link.replace(/#.*/, ''))
  }
  const first = `${running.address}/`
  const [seen, queue, kinds] = [new Set(), [{ address: first, from: first }], new Map()]
  const found = []
  while (queue.length) {
    const { address, from } = queue.shift()
    const response = await page.goto(address)
    if (response.status() === 404) {
      // The object of the link may have ended meanwhile; then no page links to it any more.
      page.faults.length = 0
      await page.goto(from)
      assert.ok(!(await linksOf()).includes(address), `${from} links to ${address}, which is missing`)
      continue
    }
    const type = response.headers()['content-type'] ?? ''
    assert.equal(response.status(), 200, address)
    if (!type.startsWith('text/html')) continue
    found.push(page.url())
    for (const link of await linksOf()) {
      if (!link.startsWith(running.address) || seen.has(link)) continue
      seen.add(link)
      const kind = kindOf(link)
      const of = kinds.get(kind) ?? 0
      if (of < OF_A_KIND) queue.push({ address: link, from: page.url() })
      kinds.set(kind, of + 1)
    }
  }
  assert.deepEqual(page.faults, [])
  await page.close()
  return [...new Set(found)]
}

test('links lead to all sections', () => {
  const kinds = new Set(pages.map(kindOf))
  for (const section of ['jobs', 'servers', 'running', 'alerts', 'timeline', 'doctor', 'audit', 'transfer', 'about']) {
    const has = [...kinds].some((kind) => new RegExp(`/${section}\\b`).test(kind))
    assert.ok(has, `no link leads to ${section}: ${[...kinds].join(' ')}`)
  }
})

test('no page asks another host', async () => {
  const page = await tab(chromium)
  page.requests = []
  for (const address of pages) await page.goto(address)
  const foreign = page.requests.filter((url) => !url.startsWith(running.address) && !url.startsWith('data:'))
  assert.deepEqual(foreign, [])
  await page.close()
})

test('a reloaded page is the same page', async () => {
  const page = await tab(chromium)
  // Headings may count jobs of a state, which change meanwhile.
  const shown = () => page.$eval('main', (main) => [
    document.title,
    main.querySelector('h1')?.innerText.replace(/\d+/g, 'n'),
  ])
  for (const address of pages) {
    await page.goto(address)
    const before = await shown()
    assert.ok(before[1], `${address} has no heading`)
    await page.reload()
    assert.equal(page.url(), address)
    assert.deepEqual(await shown(), before, address)
  }
  await page.close()
})

for (const theme of ['light', 'dark']) {
  for (const language of ['en', 'zh']) {
    test(`accessibility rules hold in ${theme}, ${language}`, async () => {
      const page = await tab(chromium, { theme })
      await page.setExtraHTTPHeaders({ 'accept-language': language })
      const findings = []
      for (const address of pages) {
        await page.goto(address)
        await page.evaluate(AXE)
        const { violations } = await page.evaluate(() => window.axe.run())
        for (const { id, nodes } of violations) {
          findings.push(`${address}: ${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`)
        }
      }
      assert.deepEqual(findings, [])
      assert.equal(await page.$eval('html', (html) => html.lang.slice(0, 2)), language)
      await page.close()
    })
  }
}

test('pages fit a phone without scrolling sideways', async () => {
  const page = await tab(chromium, { width: 360, height: 740 })
  for (const address of pages) {
    await page.goto(address)
    const [scroll, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
    assert.ok(scroll <= width, `${address} is ${scroll} pixels wide on a screen of ${width}`)
  }
  await page.close()
})

test('pages can be read without scripts', async () => {
  const page = await tab(chromium)
  await page.setJavaScriptEnabled(false)
  for (const address of pages) {
    await page.goto(address)
    assert.ok((await page.$eval('main', (main) => main.textContent)).trim().length > 0, address)
  }
  await page.close()
})
