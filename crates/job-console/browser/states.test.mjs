// States of pages that no link leads to: answers to forms, dialogs and banners pass the accessibility
// rules in both themes and both languages.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { violations } from './axe.mjs'
import { Console, browser, exported, renamed, tab } from './harness.mjs'
import { Namespace } from './registry.mjs'

const LANGUAGES = ['en', 'zh']

let running
let chromium
let home

before(async () => {
  running = await Console.start()
  chromium = await browser()
  home = `${running.address}/n/demo`
})

after(async () => {
  await chromium?.close()
  await running?.end()
})

/** Opens a tab in a language. */
async function inLanguage(language) {
  const page = await tab(chromium)
  await page.setExtraHTTPHeaders({ 'accept-language': language })
  return page
}

/** Adds a test of a state in both languages. `reach` leads a page there. */
function state(name, reach, isFault = () => false) {
  for (const language of LANGUAGES) {
    test(`${name} in ${language}`, async () => {
      const page = await inLanguage(language)
      await reach(page, language)
      assert.equal(await page.$eval('html', (html) => html.lang.slice(0, 2)), language)
      assert.deepEqual(await violations(page), [])
      assert.deepEqual(page.faults.filter((fault) => !isFault(fault)), [])
      await page.close()
    })
  }
}

/** Fills in a control as a person does, or as a paste does, which replaces what it had. */
function fill(page, selector, text) {
  return page.$eval(selector, (control, text) => {
    control.value = text
    control.dispatchEvent(new Event('input', { bubbles: true }))
  }, text)
}

/** Sends a form by one of its buttons, without the checks of the browser, and waits for the answer. */
async function send(page, button) {
  await page.$eval(button, (one) => { one.form.noValidate = true })
  const [answer] = await Promise.all([page.waitForNavigation(), page.click(button)])
  return answer.status()
}

const PREVIEW = 'main form button[value=preview]'
const ACT = 'main form.act button[type=submit]'

/** Forms: the page, the fields with their values, the button, and the status of the answer. */
const FORMS = [
  ['a changed configuration', 'jobs/newsletter/configuration/edit', { '[name=description]': 'x', '[name=overlap]': 'cancel' }, PREVIEW, 200],
  ['a wrong configuration', 'jobs/newsletter/configuration/edit', { '[name=cron]': 'x', '[name=overlap]': 'queue' }, PREVIEW, 422],
  ['a new job', 'create', { '#c-job': 'new-job', '#c-template': 'report', '#c-sharding_total_count': '3' }, PREVIEW, 200],
  ['a wrong new job', 'create', { '#c-job': 'a/b', '#c-template': '', '#c-sharding_total_count': '0' }, PREVIEW, 422],
  ['a wrong import', 'transfer', { '#import-document': '{' }, PREVIEW, 422],
  ['job files', 'transfer/apply', { '#apply-document': '[[jobs]]\nname = "declared"\nsharding_total_count = 1\nstored = true\n' }, PREVIEW, 200],
  ['wrong job files', 'transfer/apply', { '#apply-document': '[[jobs]]\nname = 1\n' }, PREVIEW, 422],
  ['a removal of servers', 'servers/removal', { '#removal-servers': '10.0.*' }, ACT, 200],
  ['a backfill', 'jobs/newsletter/backfills/request', { '#backfill-from': '2024-02-29T12:00', '#backfill-to': '2024-02-29T12:01' }, ACT, 200],
  ['an operation without a reason', 'jobs/newsletter/act/run', { '[name=why]': ' ' }, ACT, 400],
]

for (const [name, path, fields, button, status] of FORMS) {
  state(`answer to the form of ${name}`, async (page) => {
    await page.goto(`${home}/${path}`)
    for (const [selector, text] of Object.entries(fields)) await fill(page, `main ${selector}`, text)
    assert.equal(await send(page, button), status)
  }, (fault) => status !== 200 && fault.includes(`${status}`))
}

state('answer to the form of an import', async (page) => {
  const { export: all } = await exported(home)
  await page.goto(`${home}/transfer`)
  const document = { ...all, jobs: [renamed(all, 'newsletter', 'imported'), ...all.jobs] }
  await fill(page, '#import-document', JSON.stringify(document))
  assert.equal(await send(page, PREVIEW), 200)
})

/** Operations that open as a dialog: the page, and the end of the link. */
const DIALOGS = [
  ['jobs/daily-report', 'act/run'],
  ['jobs/daily-report', 'act/cancel'],
  ['jobs/price-update', 'act/rerun'],
  ['jobs/daily-report', 'act/pause'],
  ['jobs/daily-report', 'act/disable'],
  ['jobs/daily-report', 'act/shut-down'],
  ['jobs/daily-report', 'act/remove'],
  ['servers/10.0.0.11', 'act/drain'],
  ['servers/10.0.0.11', 'act/remove'],
  ['alerts?q=price-update', 'silence?expectation=failures'],
]

for (const [place, end] of DIALOGS) {
  state(`dialog of ${end} on ${place}`, async (page) => {
    await page.goto(`${home}/${place}`)
    const link = `main a[href$="${end}"]`
    await page.waitForSelector(link)
    await page.$eval(link, (link) => {
      link.closest('details.menu')?.setAttribute('open', '')
      link.click()
    })
    await page.waitForSelector('dialog[open] #act-title')
  })
}

state('open menu of operations', async (page) => {
  await page.goto(`${home}/jobs/daily-report`)
  await page.click('#acts details.menu summary')
  await page.waitForSelector('details.menu[open]')
})

state('palette with results', async (page) => {
  await page.goto(`${home}/jobs`)
  await page.keyboard.down('Control')
  await page.keyboard.press('k')
  await page.keyboard.up('Control')
  await page.waitForSelector('dialog[open] #palette-query')
  await page.keyboard.type('newsl')
  await page.waitForSelector('#palette-found [aria-selected=true]')
})

state('list of keys', async (page) => {
  await page.goto(`${home}/jobs`)
  await page.keyboard.press('?')
  await page.waitForSelector('dialog#keys[open]')
})

state('number of written changes', async (page) => {
  await page.goto(`${home}/jobs/newsletter?did=pause&changed=3`)
  await page.waitForSelector('#result')
})

state('items that fail since a change of the configuration', async (page) => {
  await page.goto(`${home}/jobs/price-update`)
  await page.waitForSelector('#failing-since')
  const back = '#failing-since a[href*="configuration/restore?replaced="]'
  await Promise.all([page.waitForNavigation(), page.click(back)])
  assert.match(await page.$eval('main table.diff', (table) => table.innerText), /EURO[^]*EUR/)
  await page.goBack()
  await page.waitForSelector('#failing-since')
})

state('announced rows', async (page, language) => {
  const job = `announced-${language}`
  await page.goto(`${home}/jobs?q=${job}`)
  await page.waitForSelector('#fresh.ok')
  const create = async (name) => {
    const { export: all } = await exported(home)
    const wanted = { export: { ...all, jobs: [renamed(all, 'newsletter', name)] } }
    const address = `${home.replace('/n/', '/api/v1/namespaces/')}/import`
    const post = async (query, body) => {
      const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
      const answer = await fetch(`${address}${query}`, { method: 'POST', headers, body: JSON.stringify(body) })
      assert.ok(answer.ok, `${answer.status}`)
      return answer.json()
    }
    const { digest } = await post('?dry_run=true', wanted)
    await post('', { ...wanted, digest, reason: 'browser test' })
  }
  await create(`${job}-1`)
  await page.waitForFunction((job) => document.querySelector('main').innerText.includes(job), {}, `${job}-1`)
  await create(`${job}-2`)
  await page.waitForFunction(() => !document.getElementById('more').hidden)
})

test('a fire that has begun is no next one', async () => {
  const page = await tab(chromium)
  await page.goto(`${home}/jobs/heartbeat/schedule`)
  // The page gets no changes from here on, so that its rows become old.
  await page.evaluate(() => dispatchEvent(new Event('pagehide')))
  const first = await page.$eval('tr[data-until]', (row) => row.dataset.until)
  await page.waitForFunction((first) => Date.now() > Date.parse(first), {}, first)
  await page.waitForFunction(() => document.querySelector('tr[data-until]').hidden)
  const shown = await page.$$eval('tr[data-until]:not([hidden])', (rows) => rows.map((row) => row.dataset.until))
  assert.ok(shown.length > 0 && !shown.includes(first), `${shown}`)
  await page.close()
})

for (const language of LANGUAGES) {
  test(`banner of a registry that does not answer in ${language}`, async () => {
    const namespace = await Namespace.start()
    try {
      const page = await inLanguage(language)
      await page.goto(`${namespace.home}/jobs/report`)
      await page.waitForSelector('#fresh.ok')
      namespace.proxy.cut()
      await page.waitForSelector('#banner p.banner')
      assert.deepEqual(await violations(page), [])
      // A change asks for a confirmation that the data is old.
      await page.goto(`${namespace.home}/jobs/report/act/run`)
      await page.waitForSelector('#act-stale')
      assert.deepEqual(await violations(page), [])
      await page.close()
    } finally {
      await namespace.end()
    }
  })

  test(`banner of a console that is gone in ${language}`, async () => {
    const other = await Console.start()
    const page = await inLanguage(language)
    try {
      await page.goto(`${other.address}/n/demo/jobs`)
      await page.waitForSelector('#fresh.ok')
      await other.end('SIGKILL')
      await page.waitForSelector('#cut:not([hidden])')
      assert.deepEqual(await violations(page), [])
    } finally {
      await other.end()
      await page.close()
    }
  })
}
