// Measures the console in a browser, and prints each figure beside its goal.
//
// Started by `cargo xtask browser --bench [--quick] [--minutes N] [--binaries [PLAIN CONSOLE]]`, which
// builds the two programs if none are named.

import { stat } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { PATIENCE, browser } from './harness.mjs'
import { Namespace } from './registry.mjs'
import { Site, addresses, compressed, typesOf } from './bench-site.mjs'
import { Latencies, firstPaint, heapSlope, interactions, longestTask, processorTime, quantile } from './bench-page.mjs'

const { values: options, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    binaries: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
if (positionals.length !== (options.binaries ? 2 : 0)) {
  throw new Error(`unexpected: ${positionals.join(' ')}; valid: --quick, --minutes N, --binaries PLAIN CONSOLE`)
}
const minutes = Number(options.minutes ?? (options.quick ? 0.5 : 3))
if (!(minutes >= 0.5 && minutes <= 240)) {
  throw new Error(`--minutes is ${options.minutes}; valid is 0.5 to 240`)
}
const ROUNDS = options.quick ? 3 : 15
/** Duration of a measurement with a steady load, in seconds. */
const SECONDS = options.quick ? 5 : 30
const TABS = 50
/** Time between two of 200 changes a second, in milliseconds. */
const PERIOD = 5
/** Time between two changes of all items: a run begins or ends, and a fire takes both. */
const BURST = 2_500

/** The printed figures: each has a name, a value, its unit, and a goal if there is one. */
const figures = []

function note(name, value, unit, goal) {
  const mark = goal === undefined ? '' : value <= goal ? 'reached' : 'MISSED'
  figures.push({ name, value, unit, goal, mark })
  console.error(`${name}: ${format(value)} ${unit} ${mark}`)
}

function format(value) {
  return value.toFixed(Number.isInteger(value) || value >= 100 ? 0 : 1)
}

const pause = (seconds) => new Promise((done) => { setTimeout(done, seconds * 1_000) })

/** Measures within a browser of its own, which is closed afterwards. */
async function inBrowser(measure) {
  const chromium = await browser()
  try {
    await measure(chromium)
  } finally {
    await chromium.close()
  }
}

/** Opens a tab with a cache, connections and a window of its own, so that it is visible. */
async function ownTab(chromium) {
  const context = await chromium.createBrowserContext()
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  return page
}

async function paints(site) {
  for (const [kind, goal, rate] of [['×1', 200, 1], ['×4', 600, 4]]) {
    for (const [name, address] of Object.entries(addresses(site))) {
      const times = []
      await inBrowser(async (chromium) => {
        for (let n = 0; n <= ROUNDS; n += 1) {
          const page = await ownTab(chromium)
          await page.emulateCPUThrottling(rate)
          await page.goto(address)
          times.push(await firstPaint(page))
          await page.browserContext().close()
        }
      })
      // The first one also starts the browser's own parts.
      note(`first paint of ${name}, CPU ${kind}, median`, quantile(times.slice(1), 0.5), 'ms', goal)
    }
  }
}

async function thirteenth(site) {
  await inBrowser(async (chromium) => {
    for (let n = 0; n < 12; n += 1) await (await chromium.newPage()).goto(addresses(site).jobs)
    const page = await chromium.newPage()
    await page.goto(addresses(site).jobs)
    note('first paint of tab 13 beside 12', await firstPaint(page), 'ms', 1_000)
  })
}

/** Returns the latencies in the first tab, or in all tabs, of an own job each. */
async function latencies(site, { tabs, streams, load, goal }) {
  const name = `commit to changed pixels, ${load}`
  await inBrowser(async (chromium) => {
    const opened = []
    for (let n = 0; n < tabs; n += 1) {
      const page = await ownTab(chromium)
      await page.goto(site.job(n))
      await page.waitForSelector('#fresh.ok')
      opened.push(await Latencies.in(page))
    }
    const readers = []
    for (let n = tabs; n < tabs + streams; n += 1) readers.push(await site.follow(n))
    const used = await Promise.all(opened.map(({ page }) => processorTime(page)))
    site.load(`random ${PERIOD}`)
    await pause(SECONDS)
    const busy = await Promise.all(used.map((one) => one()))
    const times = (await Promise.all(opened.map((one) => one.end()))).flat()
    site.load('rest')
    for (const reader of readers) reader.end()
    note(`${name}: changes a tab and second`, times.length / tabs / SECONDS, '')
    const each = busy.reduce((sum, one) => sum + one, 0) / tabs / SECONDS
    note(`${name}: main thread of a tab, processor time a second`, each, 'ms')
    note(`${name}, p50`, quantile(times, 0.5), 'ms', goal?.[0])
    note(`${name}, p99`, quantile(times, 0.99), 'ms', goal?.[1])
  })
}

async function grid() {
  await using(await Site.start(1, 1_000), async (site) => {
    await inBrowser(async (chromium) => {
      const page = await ownTab(chromium)
      await page.goto(site.job(0))
      await page.waitForSelector('#fresh.ok')
      site.load(`bursts ${BURST}`)
      const { elapsed, used } = await longestTask(page, () => pause(Math.max(SECONDS / 2, (3 * BURST) / 1_000)))
      note('1 000 items, longest task', elapsed, 'ms', 50)
      note('1 000 items, longest task, processor time', used, 'ms')
      note('1 000 items, INP', await interactions(page, SECONDS * 2), 'ms', 100)
      const { slope, size } = await heapSlope(page, minutes, pause)
      note(`1 000 items, heap after ${minutes} min`, size / 1_024, 'KiB')
      note('1 000 items, growth of the heap per minute', slope / 1_024, 'KiB', 16)
    })
  })
}

async function transfer(site) {
  const bytes = new Map()
  let foreign = 0
  await inBrowser(async (chromium) => {
    const page = await ownTab(chromium)
    const types = await typesOf(page, site.home)
    for (const [url, type] of types) {
      if (!url.startsWith(site.address)) foreign += 1
      else if (type !== 'eventsource') bytes.set(type, (bytes.get(type) ?? 0) + await compressed(url, 'gzip'))
    }
  })
  const goals = { script: 25, stylesheet: 12 }
  for (const [type, size] of bytes) note(`first view, ${type}, gzip`, size / 1_000, 'kB', goals[type])
  note('first view, requests of other hosts', foreign, '', 0)
}

/** Number of outages: the longest of them counts. */
const OUTAGES = options.quick ? 2 : 10

/** Cuts the registry, a real server, and heals it again after a change that the page cannot see. */
async function outages() {
  const [begins, ends] = [[], []]
  await using(await Namespace.start(), async (namespace) => {
    await inBrowser(async (chromium) => {
      const page = await ownTab(chromium)
      await page.goto(`${namespace.home}/jobs/report`)
      await page.waitForSelector('#fresh.ok')
      const until = async (action, condition, argument) => {
        const begun = performance.now()
        action()
        await page.waitForFunction(condition, {}, argument)
        return performance.now() - begun
      }
      for (let n = 0; n < OUTAGES; n += 1) {
        const isPaused = n % 2 === 0
        begins.push(await until(
          () => namespace.proxy.cut(),
          () => document.querySelector('#banner p.banner [data-rel]')?.textContent.match(/\d/),
        ))
        const code = await namespace.ejob(isPaused ? 'pause' : 'resume', 'report', '--why', 'during an outage')
        if (code !== 0) throw new Error(`the change during the outage failed with the code ${code}`)
        ends.push(await until(
          () => namespace.proxy.heal(),
          (isPaused) => !document.querySelector('#banner p')
            && /paused/i.test(document.querySelector('#state').innerText) === isPaused,
          isPaused,
        ))
      }
    })
  })
  for (const [name, times] of [['registry cut, until the banner has the age', begins], ['registry back, until the page is right', ends]]) {
    note(`${name}, median of ${OUTAGES}`, quantile(times, 0.5), 'ms', 2_000)
    note(`${name}, longest`, quantile(times, 1), 'ms', 2_000)
  }
}

async function list() {
  const items = options.quick ? 10 : 1_000
  await using(await Site.start(1_000, items), async (site) => {
    const name = `page of the list, 1 000 jobs of ${items} items, Brotli`
    note(name, await compressed(addresses(site).jobs, 'br') / 1_000, 'kB', 60)
  })
}

async function using(site, measure) {
  try {
    await measure(site)
  } finally {
    await site.end()
  }
}

function table() {
  const rows = figures.map(({ name, value, unit, goal, mark }) => [
    name, `${format(value)} ${unit}`.trim(), goal === undefined ? '' : `at most ${goal} ${unit}`.trim(), mark,
  ])
  const all = [['figure', 'measured', 'goal', ''], ...rows]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column].length)))
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`
  return [line(all[0]), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

const machine = `${cpus().length} processors (${cpus()[0].model.trim()}), load ${loadavg()[0].toFixed(1)} at the begin`
await using(await Site.start(1_000, 10), async (site) => {
  await paints(site)
  await transfer(site)
  site.load(`random ${PERIOD}`)
  await thirteenth(site)
})
await using(await Site.start(TABS, 20), async (site) => {
  await latencies(site, { tabs: TABS, streams: 0, load: `${TABS} tabs, 200 changes a second`, goal: [50, 250] })
  await latencies(site, { tabs: 1, streams: TABS - 1, load: `1 tab and ${TABS - 1} streams, 200 changes a second` })
})
await grid()
await outages()
await list()
if (options.binaries) {
  const [plain, whole] = await Promise.all(positionals.map((path) => stat(path)))
  note('growth of the program by the console', (whole.size - plain.size) / 1e6, 'MB', 3)
}
console.log(`the console in a browser, ${machine}\n\n${table()}`)
