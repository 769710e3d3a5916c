// Pages stay current: across tabs, with many tabs, and after the end of the console.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, browser, exported, operate, renamed, tab } from './harness.mjs'

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

  await watching.waitForFunction(() => {
    document.getElementById('more-show').click()
    return document.querySelector('main').innerText.includes('tested in a browser')
  })
  assert.ok(await watching.evaluate(() => window.sameDocument), 'the page was not loaded again')
  assert.deepEqual([...watching.faults, ...acting.faults], [])
  await other.close()
  await acting.close()
})

test('the second of two browsers that edit a configuration is shown what the first one has written', async () => {
  const other = await browser()
  const [first, second] = [await tab(chromium), await tab(other)]
  const submit = async (page, step) => Promise.all([page.waitForNavigation(), page.click(`main button[value=${step}]`)])
  for (const [page, text] of [[first, 'of the first'], [second, 'of the second']]) {
    await page.goto(`${home}/jobs/heartbeat/configuration/edit`)
    await page.click('main [name=description]', { count: 3 })
    await page.keyboard.type(text)
    await submit(page, 'preview')
    await page.type('main #act-why', `tested by the browser ${text}`)
  }
  await submit(first, 'write')
  await submit(second, 'write')
  assert.match(await second.$eval('main [role=alert]', (alert) => alert.innerText), /of the first/)
  assert.equal(await second.$eval('main [name=description]', (field) => field.value), 'of the second')
  await first.goto(`${home}/jobs/heartbeat/configuration`)
  assert.match(await first.$eval('#document', (document) => document.textContent), /of the first/)
  assert.deepEqual(first.faults, [])
  assert.deepEqual(second.faults.filter((fault) => !fault.includes('412')), [])
  await other.close()
  await first.close()
})

/** Sends a request of the API from a page of the console. */
async function api(page, method, path, body, headers = {}) {
  const address = `${home.replace('/n/', '/api/v1/namespaces/')}${path}`
  const answer = await page.evaluate(async (method, address, body, headers) => {
    const sent = { method, headers: { 'content-type': 'application/json', ...headers } }
    if (body) sent.body = JSON.stringify(body)
    const answer = await fetch(address, sent)
    return { ok: answer.ok, etag: answer.headers.get('etag'), body: await answer.json() }
  }, method, address, body, headers)
  assert.ok(answer.ok, `${method} ${path}: ${JSON.stringify(answer.body)}`)
  return answer
}

test('a link that has the focus stays the same operation when links appear and disappear', async () => {
  const page = await tab(chromium)
  await page.goto(`${home}/jobs/daily-report?item=0`)
  const [cancel, enable] = ['cancel', 'enable'].map((word) => `#item a[href$="act/${word}?item=0"]`)
  await page.waitForSelector(enable)
  await page.focus(enable)
  const isFocused = () => page.evaluate((enable) => document.activeElement.matches(enable), enable)
  // A run of this job takes a while. The link to its cancellation is before the other one.
  await operate(home.replace('/n/', '/api/v1/namespaces/'), 'daily-report', 'run', 'browser test')
  await page.waitForSelector(cancel)
  assert.ok(await isFocused(), 'while the item runs')
  await page.waitForFunction((cancel) => !document.querySelector(cancel), {}, cancel)
  assert.ok(await isFocused(), 'after the run')
  await page.close()
})

test('a new row that changes before it is asked for is shown as it is', async () => {
  const acting = await tab(chromium)
  await acting.goto(`${home}/about`)
  const { export: all } = await exported(home)
  const create = async (job) => {
    const wanted = { export: { ...all, jobs: [renamed(all, 'newsletter', job)] } }
    const { body: { digest } } = await api(acting, 'POST', '/import', { ...wanted, dry_run: true })
    await api(acting, 'POST', '/import', { ...wanted, digest, reason: 'browser test' })
  }
  const describe = async (job, description) => {
    const path = `/jobs/${job}/configuration`
    const { etag } = await api(acting, 'GET', path)
    const change = { fields: { description }, reason: 'browser test' }
    await api(acting, 'PUT', path, change, { 'if-match': etag })
  }
  await create('announced-1')
  const watching = await tab(chromium)
  await watching.bringToFront()
  await watching.goto(`${home}/jobs?q=announced-`)
  await shows(watching, /announced-1/)
  await create('announced-2')
  await watching.waitForFunction(() => !document.getElementById('more').hidden)
  await describe('announced-2', 'changed while it waits')
  // The stream sends this change after the other one.
  await describe('announced-1', 'changed in its place')
  await shows(watching, /changed in its place/)
  await watching.click('#more-show')
  assert.match(await watching.$eval('main', (main) => main.innerText), /changed while it waits/)
  assert.ok(await watching.$eval('#more', (more) => more.hidden))
  assert.deepEqual([...watching.faults, ...acting.faults], [])
  await watching.close()
  await acting.close()
})

test('a dialog is left by Escape and nothing is changed', async () => {
  const page = await tab(chromium)
  await page.goto(`${home}/jobs/newsletter`)
  const state = () => page.$eval('#state', (state) => state.innerText)
  const before = await state()
  await page.click('a[href*="act/pause"], a[href*="act/resume"]')
  await page.waitForSelector('dialog[open] #act-why')
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => !document.querySelector('dialog[open]'))
  await page.reload()
  assert.equal(await state(), before)
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

test('a page says that the console is gone and since when, and follows the next one', async () => {
  let short = await Console.start()
  const page = await tab(chromium)
  await page.bringToFront()
  await page.goto(`${short.address}/`)
  assert.ok(await page.$eval('#cut', (banner) => banner.hidden))
  await short.end('SIGKILL')
  await page.waitForFunction(() => !document.getElementById('cut').hidden)
  assert.match(await page.$eval('#cut', (banner) => banner.innerText), /\d/)
  await page.evaluate(() => { window.sameDocument = true })
  // The delays between attempts have grown by now.
  const begin = performance.now()
  for (let n = 0; n < 3; n += 1) await page.waitForRequest((request) => request.method() === 'HEAD')
  const length = performance.now() - begin
  assert.ok(length > 2_000, `3 attempts within ${length} ms`)
  short = await Console.at(new URL(short.address).host)
  await page.waitForFunction(() => document.getElementById('cut').hidden && document.querySelector('#fresh.ok'))
  assert.ok(await page.evaluate(() => window.sameDocument), 'the page was not loaded again')
  await page.close()
  await short.end()
})

test('the tab of the placement follows the owners and keeps a form that is being filled in', async () => {
  const page = await tab(chromium)
  await page.bringToFront()
  await page.goto(`${home}/jobs/settle-payments/placement`)
  await page.type('#plan-sharding_total_count', '7')
  await page.click('#plan-leave li:first-child label')
  const leaving = await page.$eval('#plan-leave input', (box) => box.value)
  await page.focus('main a')
  await page.waitForFunction(() => document.querySelector('#fresh.ok [data-live]')?.textContent.includes('·'))
  // The server 10.0.0.13 is lost and comes back each minute.
  const owners = await page.$eval('#owners', (owners) => owners.innerText)
  await page.waitForFunction((owners) => document.getElementById('owners').innerText !== owners, {}, owners)
  assert.equal(await page.$eval('#plan-sharding_total_count', (count) => count.value), '7')
  const checked = () => page.$$eval('#plan-leave input:checked', (boxes) => boxes.map((box) => box.value))
  assert.deepEqual(await checked(), [leaving])
  await page.focus('#plan-sharding_total_count')
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
  assert.deepEqual(await checked(), [leaving])
  const plan = await page.$eval('[aria-labelledby=plan-owners] tbody', (body) => body.innerText)
  assert.ok(plan.includes('first owner') && !plan.includes(leaving), plan)
  assert.deepEqual(page.faults, [])
  await page.close()
})
