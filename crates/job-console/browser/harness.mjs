// Starts consoles and browsers for the tests, and ends them.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import puppeteer from 'puppeteer-core'

/** Longest wait of a test, in milliseconds. Chromium and the console share a busy machine. */
export const PATIENCE = 60_000

/** Returns a variable that `cargo xtask browser` sets. */
export function variable(name) {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set; run the tests by \`cargo xtask browser\``)
  return value
}

/** A running program. */
export class Program {
  /** Starts a program, and waits until it prints a line that matches. Its `match` is that of the line. */
  static async start(path, words, pattern, { stdin = 'ignore', stderr = 'inherit' } = {}) {
    const child = spawn(path, words, { stdio: [stdin, 'pipe', stderr] })
    const lines = createInterface({ input: child.stdout })
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
    for await (const line of lines) {
      const match = pattern.exec(line)
      if (!match) continue
      clearTimeout(timer)
      lines.resume()
      return new this(child, match)
    }
    throw new Error(`\`${path} ${words.join(' ')}\` printed no line like ${pattern} within ${PATIENCE} ms`)
  }

  constructor(child, match) {
    this.child = child
    this.match = match
  }

  /** The whole match, without a slash at its end: the address that a program prints. */
  get address() {
    return this.match[0].replace(/\/$/, '')
  }

  /** Sends a signal and waits for the end. A program that does not end is killed. */
  async end(signal = 'SIGTERM') {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const timer = setTimeout(() => this.child.kill('SIGKILL'), PATIENCE)
    this.child.kill(signal)
    await once(this.child, 'exit')
    clearTimeout(timer)
  }
}

/** A running `ejob`. */
export class Ejob extends Program {
  /** Starts `ejob`, and waits until it prints a line that matches. */
  static start(pattern, ...words) {
    return super.start(variable('EJOB'), words, pattern)
  }
}

/** A running `ejob console`. */
export class Console extends Ejob {
  /** Starts the console and waits for its address. The demo is the default. */
  static start(...args) {
    return Console.at('127.0.0.1:0', ...args)
  }

  /** Starts the console at an address on loopback, and waits until it serves. */
  static async at(listen, ...args) {
    const words = ['--listen', listen, ...(args.length ? args : ['--demo'])]
    return super.start(/http:\/\/127\.0\.0\.1:\d+\S*/, 'console', ...words)
  }
}

/** Writes a file of users with one of them, the administrator anna, and returns its path. */
export async function usersFile(folder, password) {
  const child = spawn(variable('EJOB'), ['console', 'hash'], { stdio: ['pipe', 'pipe', 'inherit'], timeout: PATIENCE })
  child.stdin.end(`${password}\n`)
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const [hash] = /\$argon2id\S+/.exec(output)
  const path = join(folder, 'users.toml')
  await writeFile(path, `[[users]]\nname = "anna"\npassword = "${hash}"\nrole = "admin"\n`, { mode: 0o600 })
  return path
}

/** Returns the export of a namespace, whose pages are below `home`. */
export async function exported(home) {
  const address = `${home.replace('/n/', '/api/v1/namespaces/')}/export`
  return (await fetch(address, { signal: AbortSignal.timeout(PATIENCE) })).json()
}

/** Returns a job of an export under another name. */
export function renamed(all, model, job) {
  const { document, ...rest } = all.jobs.find((one) => one.job === model)
  return { ...rest, job, document: document.replaceAll(model, job) }
}

/** Requests an operation on a job by the API, as a page of the console would. */
export function operate(namespace, job, word, reason) {
  return fetch(`${namespace}/jobs/${job}/${word}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ reason }),
    signal: AbortSignal.timeout(PATIENCE),
  })
}

/** Waits until the focus is visible. A page that sets it while it loads may not be drawn yet. */
function isOutlined(page, selector) {
  const outlined = page.waitForFunction(() => {
    const style = getComputedStyle(document.activeElement)
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0
  }, { timeout: 5_000 })
  return outlined.catch(() => assert.fail(`the focus on ${selector} is not visible`))
}

/** Moves the focus by Tab until it is on an element that matches, which has to be visible there. */
export async function focus(page, selector) {
  for (let n = 0; n < 300; n += 1) {
    if (await page.evaluate((selector) => document.activeElement.matches(selector), selector)) {
      return isOutlined(page, selector)
    }
    await page.keyboard.press('Tab')
  }
  assert.fail(`Tab never reaches ${selector}`)
}

/** Starts a browser. */
export async function browser() {
  return puppeteer.launch({
    executablePath: variable('EJOB_TEST_BROWSER'),
    args: [
      // The sandbox needs namespaces, which containers refuse; all pages are of the console.
      '--no-sandbox', '--disable-dev-shm-usage',
      // Each new window would load two pages of its own for its address bar, beside the page that is measured.
      '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup',
    ],
    protocolTimeout: PATIENCE,
  })
}

/** Opens a tab that fails the test on any error in the page. */
export async function tab(browser, options = {}) {
  const { width = 1440, height = 900, theme = 'light' } = options
  const page = await browser.newPage()
  page.faults = []
  page.setDefaultTimeout(PATIENCE)
  await page.setViewport({ width, height })
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
  page.on('pageerror', (error) => page.faults.push(`error in the page: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() !== 'error') return
    const { url } = message.location()
    // An object of the demonstration can end between the answer with its page and the stream.
    if (url?.includes('/stream?') && message.text().includes('404')) return
    page.faults.push(`error in the log: ${message.text()} (${url})`)
  })
  page.on('request', (request) => page.requests?.push(request.url()))
  return page
}
