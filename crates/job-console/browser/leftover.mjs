// A namespace whose last worker has crashed before it read the manual requests for its jobs. Earlier
// ones on other servers have ended.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Console, Ejob, operate } from './harness.mjs'

/** A console of a registry in a file. After the end of the worker's session the requests are findings. */
export class LeftOver {
  /** Lets workers on these servers run and end, and requests a run of each job, which none performs. */
  static async start(jobs, servers) {
    const left = new LeftOver()
    try {
      await left.#begin(jobs, servers)
    } catch (error) {
      await left.end()
      throw error
    }
    return left
  }

  async #begin(jobs, servers) {
    this.folder = await mkdtemp(join(tmpdir(), 'ejob-browser-'))
    const file = join(this.folder, 'jobs.toml')
    const job = (name) => `[[jobs]]\nname = "${name}"\nsharding_total_count = 1\nscript = { command = "true" }\n`
    await writeFile(file, jobs.map(job).join('\n'))
    const registry = ['--registry', `sqlite:${join(this.folder, 'registry.db')}`]
    for (const server of servers) {
      const worker = await Ejob.start(/ready.*/, 'worker', file, ...registry, '--server-ip', server)
      await worker.end()
    }
    this.worker = await Ejob.start(/ready.*/, 'worker', file, ...registry)
    this.console = await Console.start(...registry)
    this.home = `${this.console.address}/n/default`
    // A stopped worker has a session for a while, but reads nothing.
    this.worker.child.kill('SIGSTOP')
    for (const name of jobs) await this.request(name)
    await this.worker.end('SIGKILL')
  }

  async request(job) {
    const answer = await operate(`${this.console.address}/api/v1/namespaces/default`, job, 'run', 'browser test')
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
  }

  async end() {
    await this.console?.end()
    await this.worker?.end('SIGKILL')
    if (this.folder) await rm(this.folder, { recursive: true, force: true })
  }
}
