// Measurements within a page.

/** Returns the value that this share of all values does not exceed. */
export function quantile(values, share) {
  if (values.length === 0) throw new Error('nothing was measured')
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}

/** Returns the time from the navigation to the first content, in milliseconds. */
export function firstPaint(page) {
  return page.evaluate(() => new Promise((done) => {
    new PerformanceObserver((list) => {
      const [entry] = list.getEntriesByName('first-contentful-paint')
      if (entry) done(entry.startTime)
    }).observe({ type: 'paint', buffered: true })
  }))
}

/**
 * Times from commits to the frames that show them. The site stores the time of a commit as the begin
 * of the run, which the page shows. Both programs read the clock of this machine.
 */
export class Latencies {
  static async in(page) {
    await page.evaluate(() => {
      window.latencies = []
      let shown = []
      new MutationObserver((records) => {
        const times = records.map(({ target }) => target).filter((target) => target.matches('time[datetime]'))
        if (shown.length === 0) {
          requestAnimationFrame(() => {
            const now = Date.now()
            for (const time of shown) window.latencies.push(now - time)
            shown = []
          })
        }
        for (const time of new Set(times)) shown.push(Date.parse(time.dateTime))
      }).observe(document.querySelector('#items'), { subtree: true, attributes: true, attributeFilter: ['datetime'] })
    })
    return new Latencies(page)
  }

  constructor(page) {
    this.page = page
  }

  end() {
    return this.page.evaluate(() => window.latencies)
  }
}

/**
 * Returns a function that returns the processor time of a page's main thread since this call, in
 * milliseconds. Other programs on the machine do not change it.
 */
export async function processorTime(page) {
  const session = await page.createCDPSession()
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const read = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration').value * 1_000
  }
  const begun = await read()
  return async () => await read() - begun
}

/**
 * Returns the longest elapsed time and the longest processor time of the tasks of a page's main
 * thread while an action takes place, in milliseconds.
 */
export async function longestTask(page, action) {
  await page.tracing.start({ categories: ['toplevel', '__metadata', 'disabled-by-default-devtools.timeline'] })
  await action()
  const { traceEvents } = JSON.parse(new TextDecoder().decode(await page.tracing.stop()))
  const key = ({ pid, tid }) => `${pid} ${tid}`
  const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
  const main = new Set(threads.map(key))
  const tasks = traceEvents.filter((event) => event.name === 'RunTask' && main.has(key(event)))
  const longest = (times) => quantile(times.map((time) => (time ?? 0) / 1_000), 1)
  return { elapsed: longest(tasks.map(({ dur }) => dur)), used: longest(tasks.map(({ tdur }) => tdur)) }
}

/** Opens and closes a dialog, and clicks, for some seconds. Returns the INP, in milliseconds. */
export async function interactions(page, seconds) {
  await page.evaluate(() => {
    window.interactions = new Map()
    new PerformanceObserver((list) => {
      for (const { interactionId, duration } of list.getEntries()) {
        if (interactionId) window.interactions.set(interactionId, Math.max(duration, window.interactions.get(interactionId) ?? 0))
      }
    }).observe({ type: 'event', durationThreshold: 16 })
  })
  const end = performance.now() + seconds * 1_000
  let performed = 0
  while (performance.now() < end) {
    await page.keyboard.press('?')
    await page.waitForSelector('dialog#keys[open]')
    await page.keyboard.press('Escape')
    await page.waitForSelector('dialog#keys:not([open])')
    await page.click('#items-title')
    performed += 3
  }
  const slow = await page.evaluate(() => [...window.interactions.values()])
  // The browser reports none that is faster than its threshold.
  return quantile([...slow, ...Array(Math.max(0, performed - slow.length)).fill(16)], 0.98)
}

/** Returns the growth of a page's heap per minute and its size at the end, in bytes, without garbage. */
export async function heapSlope(page, minutes, pause) {
  const session = await page.createCDPSession()
  const samples = []
  const begun = performance.now()
  const n = Math.max(6, Math.round(minutes * 6))
  for (let k = 0; k <= n; k += 1) {
    await session.send('HeapProfiler.collectGarbage')
    const { usedSize } = await session.send('Runtime.getHeapUsage')
    samples.push([(performance.now() - begun) / 60_000, usedSize])
    if (k < n) await pause((minutes * 60) / n)
  }
  const mean = (column) => samples.reduce((sum, row) => sum + row[column], 0) / samples.length
  const [x, y] = [mean(0), mean(1)]
  const slope = samples.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0) / samples.reduce((sum, [a]) => sum + (a - x) ** 2, 0)
  return { slope, size: samples.at(-1)[1] }
}
