// A page that stays open during random operations and faults equals the page that a new tab loads,
// and a reload of any address gives the same page.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { crawl, opens } from './crawl.mjs'
import { PATIENCE, browser, operate, tab } from './harness.mjs'
import { Namespace } from './registry.mjs'

const STEPS = 12
/** The pages, one for each seed. */
const PAGES = ['', '/jobs', '/jobs/report', '/jobs/report/placement', '/running', '/audit']

let namespace
let chromium
/** Another browser, in which new tabs leave the page of the first one visible. */
let other

before(async () => {
  namespace = await Namespace.start()
  chromium = await browser()
  other = await browser()
})

after(async () => {
  await other?.close()
  await chromium?.close()
  await namespace?.end()
})

/** Returns a generator of numbers below a bound, the same for each run of a seed (mulberry32). */
function chooser(seed) {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Requests an operation. It can be refused, also because the registry does not answer. */
async function request(word, job) {
  const answer = await operate(`${namespace.console.address}/api/v1/namespaces/jobs`, job, word, 'a random step')
  assert.notEqual(answer.status, 500, await answer.text())
}

/** Performs one random fault, or adds the request of an operation. */
async function step(page, choose, requests) {
  const words = ['run', 'pause', 'resume', 'disable', 'enable', 'run']
  const kind = choose(10)
  if (kind < 6) requests.push(request(words[choose(words.length)], ['report', 'broken'][choose(2)]))
  else if (kind === 6) namespace.proxy.cut()
  else if (kind === 7) namespace.proxy.heal()
  else if (kind === 8) await namespace.crashWorker()
  else await page.setOfflineMode(choose(2) === 0)
}

/**
 * Returns the content of a page without what two tabs show differently: texts that change by time
 * alone (`data-rel` and `data-since` have the times, `data-live` the age of the page), the title with
 * the time that the script adds, times at which the console first saw a state ("or earlier"), and
 * marks of the script.
 */
function content(page) {
  return page.evaluate(() => {
    const texts = (node) => {
      if (node.nodeType === Node.TEXT_NODE) return node.data
      if (node.nodeType !== Node.ELEMENT_NODE || node.matches('.gone')) return ''
      const isTime = node.matches('time, [data-rel]')
      const isFirstSight = [...(node.parentElement?.children ?? [])].some((other) => other.textContent === 'or earlier')
      if (isTime && isFirstSight) return ''
      const attributes = [...node.attributes]
        .filter(({ name, value }) => !(['title', 'data-here', 'open'].includes(name) || (name === 'class' && value === '')))
        .map(({ name, value }) => `${name}=${JSON.stringify(value)}`)
        .sort()
      const isByTime = node.matches('[data-rel], [data-since], [data-live]')
      const inner = isByTime ? '' : [...node.childNodes].map(texts).join('')
      return `<${[node.localName, ...attributes].join(' ')}>${inner}</>`
    }
    return ['nav', 'banner', 'fresh', 'content'].map((id) => texts(document.getElementById(id))).join('\n')
  })
}

/** Returns both texts from a little before their first difference. */
function difference(one, two) {
  let at = 0
  while (at < one.length && one[at] === two[at]) at += 1
  const from = Math.max(0, at - 200)
  return `${one.slice(from, at + 200)}\n is not\n${two.slice(from, at + 200)}`
}

for (const [seed, path] of PAGES.entries()) {
  test(`page ${path || 'of the overview'} equals a new one after the steps of seed ${seed}`, async () => {
    const choose = chooser(seed)
    const page = await tab(chromium)
    // Requests fail while the page is offline.
    page.removeAllListeners('console')
    await page.goto(`${namespace.home}${path}`)
    await page.evaluate(() => { window.sameDocument = true })
    const requests = []
    for (let n = 0; n < STEPS; n += 1) {
      await step(page, choose, requests)
      // Some steps follow each other at once, others after the page was drawn.
      if (choose(2) === 0) await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)) }))
    }
    namespace.proxy.heal()
    await Promise.all(requests)
    await page.setOfflineMode(false)
    const fresh = await tab(other)
    const end = performance.now() + PATIENCE
    for (;;) {
      await page.evaluate(() => { if (!document.getElementById('more').hidden) document.getElementById('more-show').click() })
      await fresh.goto(`${namespace.home}${path}`)
      await fresh.waitForFunction(() => document.querySelector('#fresh.ok'))
      const [shown, expected] = [await content(page), await content(fresh)]
      if (shown === expected) break
      assert.ok(performance.now() < end, `seed ${seed}: ${difference(shown, expected)}`)
    }
    assert.ok(await page.evaluate(() => window.sameDocument), 'the page was not loaded again')
    await fresh.close()
    await page.close()
  })
}

test('each address, with its filters, gives the same page after a reload', async () => {
  const page = await tab(chromium)
  const shown = async () => {
    await page.waitForFunction(() => !document.body.dataset.stream || document.querySelector('#fresh.ok'))
    return content(page)
  }
  for (const address of await crawl(chromium, namespace.console.address)) {
    const end = performance.now() + PATIENCE
    for (;;) {
      if (!await opens(page, () => page.goto(address))) break
      const before = await shown()
      if (!await opens(page, () => page.reload())) break
      assert.equal(page.url(), address)
      const after = await shown()
      // The namespace still changes, for example when the session of a killed worker ends.
      if (after === before) break
      assert.ok(performance.now() < end, `${address}: ${difference(after, before)}`)
    }
  }
  assert.deepEqual(page.faults, [])
  await page.close()
})
