// A console over a generated namespace, and what it sends.

import { once } from 'node:events'
import { get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { PATIENCE, Program, variable } from './harness.mjs'

/** A running `ejob-bench console-site`. */
export class Site extends Program {
  /** Starts a console with these numbers of jobs and of items of each job, and waits for its data. */
  static async start(jobs, items) {
    const words = ['console-site', String(jobs), String(items)]
    const site = await super.start(variable('EJOB_BENCH'), words, /^http:\S+/, { stdin: 'pipe' })
    const end = performance.now() + PATIENCE
    for (;;) {
      const health = await fetch(`${site.address}/health`, { signal: AbortSignal.timeout(PATIENCE) })
      await health.text()
      if (health.status === 200) break
      if (performance.now() > end) throw new Error(`the console has no data after ${PATIENCE} ms`)
      // The console reads its namespace on the same processors.
      await pause(20)
    }
    return site
  }

  get home() {
    return `${this.address}/n/bench`
  }

  job(number) {
    return `${this.home}/jobs/department-report-${String(number).padStart(5, '0')}`
  }

  /** Begins other changes: `rest`, `random MS` or `bursts MS`. */
  load(line) {
    this.child.stdin.write(`${line}\n`)
  }

  /** Follows the page of a job without a browser. */
  async follow(number) {
    const page = new URL(this.job(number)).pathname.slice(1)
    const request = get(`${this.home}/stream?page=${encodeURIComponent(page)}`)
    const response = await responseTo(request, 'the stream')
    response.resume()
    response.on('error', () => {})
    return { end: () => request.destroy() }
  }
}

/** Returns the addresses of the pages whose first paint is measured. */
export function addresses(site) {
  return { overview: site.home, jobs: `${site.home}/jobs`, 'a job': site.job(7) }
}

/** Waits for the begin of a successful response. */
async function responseTo(request, name) {
  const [response] = await once(request, 'response', { signal: AbortSignal.timeout(PATIENCE) })
  if (response.statusCode !== 200) throw new Error(`${name} was answered by ${response.statusCode}`)
  return response
}

/** Returns the size of an answer as it is sent, in bytes. */
export async function compressed(url, encoding) {
  const response = await responseTo(get(url, { headers: { 'accept-encoding': encoding } }), url)
  let size = 0
  for await (const chunk of response) size += chunk.length
  return size
}

/** Loads a page, and returns the addresses of its requests with their types. */
export async function typesOf(page, address) {
  const types = new Map()
  page.on('request', (request) => types.set(request.url(), request.resourceType()))
  await page.goto(address)
  await page.waitForSelector('#fresh.ok')
  return types
}
