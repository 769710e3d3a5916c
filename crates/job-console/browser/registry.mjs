// A namespace on a real ZooKeeper, with a worker and a console whose connection can be cut.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Console, PATIENCE, Program, variable } from './harness.mjs'

/** A TCP proxy on loopback. */
class Proxy {
  static async to(host, port) {
    const proxy = new Proxy()
    proxy.server = createServer((inner) => {
      if (proxy.isCut) return inner.destroy()
      const outer = connect(port, host)
      for (const [from, to] of [[inner, outer], [outer, inner]]) {
        proxy.sockets.add(from)
        from.on('error', () => {}).on('close', () => { proxy.sockets.delete(from); to.destroy() })
        from.pipe(to)
      }
    })
    proxy.server.listen(0, '127.0.0.1')
    await once(proxy.server, 'listening')
    proxy.port = proxy.server.address().port
    return proxy
  }

  constructor() {
    this.sockets = new Set()
    this.isCut = false
  }

  /** Closes all connections, and refuses others until `heal`. */
  cut() {
    this.isCut = true
    for (const socket of this.sockets) socket.destroy()
  }

  heal() {
    this.isCut = false
  }

  end() {
    this.cut()
    this.server.close()
  }
}

const JOBS = `
[[jobs]]
name = "report"
sharding_total_count = 3
cron = "0 0 3 1 1 ?"
script = { command = "true" }

[[jobs]]
name = "broken"
sharding_total_count = 2
cron = "0 0 3 1 1 ?"
script = { command = "false" }
`

/** A ZooKeeper server, a worker, and a console behind a proxy. */
export class Namespace {
  static async start() {
    const namespace = new Namespace()
    try {
      await namespace.#begin()
    } catch (error) {
      await namespace.end()
      throw error
    }
    return namespace
  }

  async #begin() {
    this.folder = await mkdtemp(join(tmpdir(), 'ejob-browser-'))
    await writeFile(join(this.folder, 'jobs.toml'), JOBS)
    this.server = await Program.start(variable('EJOB_TEST_ZOOKEEPER'), [], /^([\d.]+):(\d+)/, { stderr: 'ignore' })
    const [address, host, port] = this.server.match
    this.registry = `zk://${address}/jobs`
    await this.startWorker()
    this.proxy = await Proxy.to(host, Number(port))
    this.console = await Console.start('--registry', `zk://127.0.0.1:${this.proxy.port}/jobs`)
    this.home = `${this.console.address}/n/jobs`
  }

  async startWorker() {
    const args = ['worker', join(this.folder, 'jobs.toml'), '--registry', this.registry]
    this.worker = await Program.start(variable('EJOB'), args, /^ready: /, { stderr: 'ignore' })
  }

  /** Ends the worker as a crash does, and starts it again. */
  async crashWorker() {
    await this.worker.end('SIGKILL')
    await this.startWorker()
  }

  /** Runs `ejob` on the registry itself, beside the proxy. */
  async ejob(...args) {
    const options = { stdio: 'ignore', timeout: PATIENCE }
    const child = spawn(variable('EJOB'), [...args, '--registry', this.registry], options)
    const [code] = await once(child, 'exit')
    return code
  }

  async end() {
    await this.console?.end()
    this.proxy?.end()
    await this.worker?.end()
    await this.server?.end()
    if (this.folder) await rm(this.folder, { recursive: true, force: true })
  }
}
