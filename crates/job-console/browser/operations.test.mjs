// Each operation of the pages, by the mouse and by the keyboard alone.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, browser, exported, operate, renamed, tab } from './harness.mjs'
import { LeftOver } from './leftover.mjs'
import { WAYS } from './ways.mjs'

/** Ways with the objects on which they operate; `gone` is a server without instances. */
const ROUNDS = [
  { name: 'mouse', way: WAYS.mouse, job: 'archive-logs', server: '10.0.0.11', gone: '10.0.1.1' },
  { name: 'keyboard', way: WAYS.keyboard, job: 'rebuild-index', server: '10.0.0.12', gone: '10.0.2.1' },
]

let running
let chromium
let home
/** Another namespace, with a finding for each way. */
let leftOver

before(async () => {
  leftOver = await LeftOver.start(ROUNDS.map(({ name }) => name), ROUNDS.map(({ gone }) => gone))
  running = await Console.start()
  chromium = await browser()
  home = `${running.address}/n/demo`
})

after(async () => {
  await chromium?.close()
  await running?.end()
  await leftOver?.end()
})

/** Answer to an operation that has nothing to do. */
const NOTHING = 'Nothing changes.'
/** A job whose runs take long enough for a cancellation. */
const SLOW = 'daily-report'
/** A job that leaves the server of a way, and is not used otherwise. */
const LEAVING = 'settle-payments'
/** A job that is paused, so that a backfill of it stays in progress. */
const PAUSED = 'newsletter'
/**
 * Operations whose page is that of another operation, and needs nodes that no process leaves. The
 * Rust tests of the pages write such nodes and perform them.
 */
const IN_RUST_TESTS = ['repair_finding_of_group']
/** Operations of the API that a test has performed, each with its way. */
const performed = new Set()

/**
 * The operations that ask for a reason in a dialog or on a page: the operation of the API, the page,
 * the end of the link's address, and the name whose removal has to be confirmed.
 */
function operations(job, server) {
  const ofServer = (word, of = job) => `jobs/${of}/act/${word}?server=${server}`
  return [
    ['pause_job', `jobs/${job}`, 'act/pause'],
    ['resume_job', `jobs/${job}`, 'act/resume'],
    ['disable_job', `jobs/${job}`, 'act/disable'],
    ['enable_job', `jobs/${job}`, 'act/enable'],
    ['run_job', `jobs/${job}`, 'act/run'],
    ['disable_items', `jobs/${job}?item=0`, 'act/disable?item=0'],
    ['enable_items', `jobs/${job}?item=0`, 'act/enable?item=0'],
    ['rerun_failed', 'jobs/price-update', 'act/rerun'],
    ['pause_jobs', `jobs?q=${job}`, `act/pause?q=${job}`],
    ['resume_jobs', `jobs?q=${job}`, `act/resume?q=${job}`],
    ['disable_jobs', `jobs?q=${job}`, `act/disable?q=${job}`],
    ['enable_jobs', `jobs?q=${job}`, `act/enable?q=${job}`],
    ['run_jobs', `jobs?q=${job}`, `act/run?q=${job}`],
    ['rerun_failed_of_jobs', 'jobs?q=price-update', 'act/rerun-failed?q=price-update'],
    ['cancel_runs', `jobs/${SLOW}`, 'act/cancel'],
    ['cancel_runs_of_jobs', `jobs?q=${SLOW}`, `act/cancel?q=${SLOW}`],
    ['pause_server_of_job', `servers/${server}`, ofServer('pause')],
    ['resume_server_of_job', `servers/${server}`, ofServer('resume')],
    ['disable_server_of_job', `servers/${server}`, ofServer('disable')],
    ['enable_server_of_job', `servers/${server}`, ofServer('enable')],
    ['drain_server', `servers/${server}`, ofServer('drain')],
    ['enable_server_of_job', `servers/${server}`, ofServer('enable')],
    ['pause_server', `servers/${server}`, 'act/pause'],
    ['resume_server', `servers/${server}`, 'act/resume'],
    ['drain_server_of_all_jobs', `servers/${server}`, 'act/drain'],
    ['enable_server', `servers/${server}`, 'act/enable'],
    ['disable_server', `servers/${server}`, 'act/disable'],
    ['enable_server', `servers/${server}`, 'act/enable'],
    ['shut_down_server_of_job', `servers/${server}`, ofServer('shut-down', LEAVING)],
    ['remove_server_of_job', `servers/${server}`, ofServer('remove', LEAVING), server],
    ['shut_down_job', `jobs/${job}`, 'act/shut-down'],
    ['remove_job', `jobs/${job}`, 'act/remove', job],
    ['shut_down_server', `servers/${server}`, 'act/shut-down'],
    ['remove_server', `servers/${server}`, 'act/remove', server],
  ]
}

/** Adds a test of operations of the API by one way. */
function operation(ids, { name }, perform) {
  for (const id of ids) performed.add(`${id} by ${name}`)
  test(`${ids.join(', ')} by ${name}`, async () => {
    const page = await tab(chromium)
    await perform(page)
    await page.close()
  })
}

/** Sends the form of a page, and waits for the next page. */
function send(page, way, selector) {
  return Promise.all([page.waitForNavigation(), way.send(page, selector)])
}

/** Waits until the audit log shows a reason. */
async function isRecorded(page, why, of = home) {
  await page.goto(`${of}/audit`)
  await page.waitForFunction((why) => document.querySelector('main').innerText.includes(why), {}, why)
}

/** Waits until a row of the list shows a text and a state. */
function isListed(page, text, state) {
  return page.waitForFunction((text, state) => {
    const rows = [...document.querySelectorAll('#rows tr')]
    return rows.some((row) => row.innerText.includes(text) && row.querySelector('.st')?.innerText === state)
  }, {}, text, state)
}

/** Requests an operation once. Returns the text of the answer. */
async function attempt(page, way, [, place, end, confirmed], why) {
  await page.goto(`${home}/${place}`)
  // The links of an item and of a job on a server are beside other facts than those of the whole.
  const within = end.includes('?item') ? '#item' : end.startsWith('act/') && !end.includes('?q=') ? '#acts' : 'main'
  const selector = `${within} a[href$="${end}"]`
  await page.waitForSelector(selector)
  const isDialog = await page.$eval(selector, (link) => 'dialog' in link.dataset)
  if (isDialog) await way.follow(page, selector)
  else await Promise.all([page.waitForNavigation(), way.follow(page, selector)])
  const form = isDialog ? 'dialog[open]' : 'main'
  if (isDialog) await page.waitForSelector('dialog[open] #act-title')
  // An operation without a form says why there is nothing to do.
  if (!(await page.$(`${form} #act-why`))) return NOTHING
  await way.type(page, `${form} [name=why]`, why)
  if (confirmed) {
    await way.type(page, `${form} [name=name]`, confirmed)
    if (await page.$(`${form} [name=alive]`)) await way.tick(page, `${form} [name=alive]`)
  }
  await send(page, way, `${form} form.act button[type=submit]`)
  return page.$eval('main', (main) => main.innerText)
}

for (const round of ROUNDS) {
  const { name, way, job, server, gone } = round

  operation(['update_configuration', 'restore_configuration'], round, async (page) => {
    await page.goto(`${home}/jobs/${job}/configuration`)
    const before = await page.$eval('#document', (document) => document.textContent)
    const edit = `a[href$="${job}/configuration/edit"]`
    await Promise.all([page.waitForNavigation(), way.follow(page, edit)])
    await way.type(page, 'main [name=description]', `changed by ${name}`)
    await send(page, way, 'main form button[value=preview]')
    await way.type(page, 'main #act-why', `edited by ${name}`)
    await send(page, way, 'main form button[value=write]')
    await page.waitForFunction((text) => document.getElementById('document').textContent.includes(text), {}, `changed by ${name}`)
    await page.waitForSelector('#former a[href*="restore"]')
    await Promise.all([page.waitForNavigation(), way.follow(page, '#former a[href*="restore"]')])
    await way.type(page, 'main #act-why', `restored by ${name}`)
    await send(page, way, 'main form button[value=write]')
    await page.waitForFunction((text) => document.getElementById('document').textContent === text, {}, before)
    await isRecorded(page, `restored by ${name}`)
    assert.deepEqual(page.faults, [])
  })

  operation(['silence_expectation', 'end_silence'], round, async (page) => {
    const link = `a[href$="jobs/${job}/silence?expectation=failures"]`
    const begun = `begin by ${name}`
    for (const step of ['begin', 'end']) {
      await page.goto(`${home}/alerts?q=${job}`)
      await page.waitForSelector(link)
      await way.follow(page, link)
      await page.waitForSelector('dialog[open] #act-why')
      await way.type(page, 'dialog[open] [name=why]', `${step} by ${name}`)
      await send(page, way, `dialog[open] button[value=${step}]`)
      await page.waitForFunction((link, begun, isSilent) => {
        const row = document.querySelector(link)?.closest('tr')
        return row && row.innerText.includes(begun) === isSilent
      }, {}, link, begun, step === 'begin')
    }
    assert.deepEqual(page.faults, [])
  })

  operation(['create_job'], round, async (page) => {
    const created = `created-by-${name}`
    await page.goto(`${home}/jobs`)
    const link = 'main a[href$="n/demo/create"]'
    await Promise.all([page.waitForNavigation(), way.follow(page, link)])
    await way.type(page, '#c-job', created)
    await way.type(page, '#c-template', 'report')
    await way.type(page, '#c-cron', '0 30 4 * * ?')
    await way.type(page, '#c-sharding_total_count', '3')
    await way.tick(page, '#c-failover')
    await send(page, way, 'main button[value=preview]')
    await way.type(page, 'main #act-why', `created by ${name}`)
    await send(page, way, 'main button[value=write]')
    const row = `main tbody a[href$="jobs/${created}"]`
    await page.waitForSelector(row)
    await Promise.all([page.waitForNavigation(), way.follow(page, row)])
    assert.ok((await page.$eval('h1', (h1) => h1.innerText)).includes(created))
    // The servers offer the template. One of them may be lost at this moment.
    await page.waitForFunction(() => /on [23] instances/.test(document.getElementById('sub').innerText))
    await isRecorded(page, `created by ${name}`)
    assert.deepEqual(page.faults, [])
  })

  operation(['import_jobs'], round, async (page) => {
    const imported = `imported-by-${name}`
    await page.goto(`${home}/transfer`)
    const { export: all } = await exported(home)
    const document = { ...all, jobs: [renamed(all, 'newsletter', imported)] }
    await way.paste(page, '#import-document', JSON.stringify(document))
    await send(page, way, 'main button[value=preview]')
    await way.type(page, 'main #act-why', `imported by ${name}`)
    await send(page, way, 'main button[value=write]')
    await page.goto(`${home}/jobs/${imported}`)
    await isRecorded(page, `imported by ${name}`)
    assert.deepEqual(page.faults, [])
  })

  operation(['apply_files'], round, async (page) => {
    const declared = `declared-by-${name}`
    await page.goto(`${home}/transfer`)
    const link = 'main a[href$="transfer/apply"]'
    await Promise.all([page.waitForNavigation(), way.follow(page, link)])
    const file = `[[jobs]]\nname = "${declared}"\nsharding_total_count = 1\nstored = true\n`
    await way.paste(page, '#apply-document', file)
    await send(page, way, 'main button[value=preview]')
    await way.type(page, 'main #act-why', `applied by ${name}`)
    await send(page, way, 'main button[value=write]')
    await page.goto(`${home}/jobs/${declared}`)
    await isRecorded(page, `applied by ${name}`)
    assert.deepEqual(page.faults, [])
  })

  operation(['remove_servers'], round, async (page) => {
    await page.goto(`${leftOver.home}/servers`)
    const link = 'main a[href$="servers/removal"]'
    await Promise.all([page.waitForNavigation(), way.follow(page, link)])
    await way.type(page, '#removal-servers', `${gone.slice(0, -1)}*`)
    await send(page, way, 'main form.act button[type=submit]')
    await way.type(page, 'main #act-why', `removed by ${name}`)
    await send(page, way, 'main form.act button[type=submit]')
    await isRecorded(page, `removed by ${name}`, leftOver.home)
    await page.goto(`${leftOver.home}/servers`)
    await page.waitForFunction((gone) => !document.querySelector('main').innerText.includes(gone), {}, gone)
    assert.deepEqual(page.faults, [])
  })

  operation(['set_group', 'remove_group'], round, async (page) => {
    const group = `group-by-${name}`
    await page.goto(`${home}/groups`)
    const link = 'main a[href$="group-limits"]'
    await Promise.all([page.waitForNavigation(), way.follow(page, link)])
    await way.type(page, '#limits-group', group)
    await way.type(page, '#limits-cluster_concurrency', '3')
    await way.type(page, '#limits-start_rate', '9 in 1m')
    await send(page, way, 'main form.act button[type=submit]')
    const shown = await page.$eval('main', (main) => main.innerText)
    assert.match(shown, /no limit/)
    assert.match(shown, /9 in 1m/)
    await way.type(page, 'main #act-why', `limits set by ${name}`)
    await send(page, way, 'main form.act button[type=submit]')
    await page.goto(`${home}/groups`)
    const row = `main tbody a[href$="groups/${group}"]`
    await page.waitForSelector(row)
    await Promise.all([page.waitForNavigation(), way.follow(page, row)])
    const removal = '#acts a[href$="removal"]'
    await page.waitForSelector(removal)
    await way.follow(page, removal)
    await page.waitForSelector('dialog[open] #act-title')
    await way.type(page, 'dialog[open] [name=why]', `limits removed by ${name}`)
    await send(page, way, 'dialog[open] form.act button[type=submit]')
    await page.waitForFunction(() => document.querySelector('#state .st')?.innerText === 'no limits')
    await page.goto(`${home}/groups`)
    await page.waitForFunction((row) => !document.querySelector(row), {}, row)
    await isRecorded(page, `limits set by ${name}`)
    await isRecorded(page, `limits removed by ${name}`)
    assert.deepEqual(page.faults, [])
  })

  operation(['request_backfill', 'cancel_backfill'], round, async (page) => {
    const why = `requested by ${name}`
    const list = `${home}/jobs/${PAUSED}/backfills`
    await page.goto(list)
    const link = 'main a[href$="backfills/request"]'
    // The end of an earlier backfill shows the link.
    await page.waitForSelector(link)
    await Promise.all([page.waitForNavigation(), way.follow(page, link)])
    await way.time(page, '#backfill-from', '2024-02-29T12:00')
    await way.time(page, '#backfill-to', '2024-02-29T12:01')
    await way.type(page, '#backfill-items', '0-1')
    await way.type(page, '#backfill-concurrency', '2')
    await send(page, way, 'main form.act button[type=submit]')
    const shown = await page.$eval('main', (main) => main.innerText)
    assert.match(shown, /4 runs: 2 fires of 2 items/)
    await way.type(page, 'main #act-why', why)
    await send(page, way, 'main form.act button[type=submit]')
    assert.equal(new URL(page.url()).pathname, new URL(list).pathname)
    await isListed(page, why, 'in progress')
    const cancel = 'main a[href*="/backfills/"][href$="/cancel"]'
    await page.waitForSelector(cancel)
    await way.follow(page, cancel)
    await page.waitForSelector('dialog[open] #act-title')
    await way.type(page, 'dialog[open] [name=why]', `cancelled by ${name}`)
    await send(page, way, 'dialog[open] form.act button[type=submit]')
    await isListed(page, why, 'cancelled')
    await isRecorded(page, `cancelled by ${name}`)
    assert.deepEqual(page.faults, [])
  })

  operation(['shut_down_instance'], round, async (page) => {
    // Each way has its own server, and the operations on the job of the round need its instances.
    await page.goto(`${home}/jobs/newsletter/placement`)
    const link = `#owners a[href*="act/shut-down?instance=${server}%"]`
    await page.waitForSelector(link)
    const address = await page.$eval(link, (one) => one.getAttribute('href'))
    await way.follow(page, link)
    await page.waitForSelector('dialog[open] #act-title')
    await way.type(page, 'dialog[open] [name=why]', `instance left by ${name}`)
    await send(page, way, 'dialog[open] form.act button[type=submit]')
    await page.waitForFunction((link) => !document.querySelector(link), {}, `#owners a[href="${address}"]`)
    await isRecorded(page, `instance left by ${name}`)
    assert.deepEqual(page.faults, [])
  })

  const rows = operations(job, server)
  const reason = (index) => `${name} ${index}: ${rows[index][0]}`
  for (const [index, row] of rows.entries()) {
    const [id, place, end, confirmed] = row
    operation([id], round, async (page) => {
      const why = reason(index)
      const isCancel = id.startsWith('cancel')
      if (isCancel) await operate(home.replace('/n/', '/api/v1/namespaces/'), SLOW, 'run', `to cancel by ${name}`)
      // Items that run at this moment have not failed yet, so that a rerun may change nothing. A
      // requested run takes a moment to start.
      let answer = await attempt(page, way, row, why)
      for (let n = 0; answer.includes(NOTHING); n += 1) {
        assert.ok((isCancel || id.startsWith('rerun')) && n < 30, `${end} on ${place} changes nothing`)
        answer = await attempt(page, way, row, why)
      }
      await isRecorded(page, why)
      // The page of a removed object can be loaded again before the answer to the form leads away.
      const isGone = (fault) => confirmed && fault.includes('404') && fault.endsWith(`/${confirmed})`)
      assert.deepEqual(page.faults.filter((fault) => !isGone(fault)), [])
    })
  }

  operation(['repair_finding'], round, async (page) => {
    const doctor = `${leftOver.home}/doctor?job=${name}`
    await page.goto(doctor)
    const link = `main a[href*="jobs/${name}/repair?"]`
    await page.waitForFunction((link) => {
      document.getElementById('more-show').click()
      return document.querySelector(link)
    }, {}, link)
    // The job may have further findings, such as a server without an instance.
    const address = await page.$eval(link, (first) => first.getAttribute('href'))
    await way.follow(page, link)
    await page.waitForSelector('dialog[open] ol li')
    await way.type(page, 'dialog[open] [name=why]', `repaired by ${name}`)
    await send(page, way, 'dialog[open] button[type=submit]')
    await isRecorded(page, `repaired by ${name}`, leftOver.home)
    await page.goto(doctor)
    assert.equal(await page.$(`main a[href="${address}"]`), null, 'the finding is gone')
    assert.deepEqual(page.faults, [])
  })
}

test('each operation of the API is performed by each way', async () => {
  const { paths } = await (await fetch(`${running.address}/api/v1/openapi.json`)).json()
  const all = Object.values(paths).flatMap((methods) => Object.entries(methods))
  const changes = all.filter(([method]) => ['delete', 'patch', 'post', 'put'].includes(method))
  const known = changes.map(([, { operationId }]) => operationId)
  for (const id of IN_RUST_TESTS) assert.ok(known.includes(id), `${id} is an operation`)
  const ids = known.filter((id) => !IN_RUST_TESTS.includes(id))
  assert.ok(ids.length > 0, 'the document has no operations')
  const needed = ids.flatMap((id) => ROUNDS.map(({ name }) => `${id} by ${name}`))
  assert.deepEqual(needed.filter((one) => !performed.has(one)), [])
})
