// A page whose session has ended leads to the sign-in by itself, and the sign-in leads back.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { violations } from './axe.mjs'
import { Console, browser, tab, usersFile } from './harness.mjs'

const PASSWORD = 'correct horse battery'

let folder
let arguments_
let running
let chromium

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ejob-browser-'))
  arguments_ = ['--demo', '--users', await usersFile(folder, PASSWORD)]
  running = await Console.start(...arguments_)
  chromium = await browser()
})

after(async () => {
  await chromium?.close()
  await running?.end()
  await rm(folder, { recursive: true, force: true })
})

async function signIn(page) {
  await page.waitForSelector('input[type=password]')
  await page.type('input[name=user], input[name=name], input[autocomplete=username]', 'anna')
  await page.type('input[type=password]', PASSWORD)
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
}

test('an open page whose session has ended leads to the sign-in and back', async () => {
  const page = await tab(chromium)
  const address = `${running.address}/n/demo/jobs/newsletter/configuration`
  await page.goto(address)
  await signIn(page)
  assert.equal(page.url(), address)
  // Sessions end with the console, which serves again at the same address.
  const { host } = new URL(running.address)
  await running.end()
  running = await Console.at(host, ...arguments_)
  await signIn(page)
  assert.equal(page.url(), address)
  await page.waitForFunction(() => document.querySelector('#fresh.ok'))
  await page.close()
})

test('an operation after the end of the session leads to the sign-in', async () => {
  const page = await tab(chromium)
  await page.goto(`${running.address}/n/demo/jobs/newsletter`)
  await page.deleteCookie(...(await page.cookies()))
  await page.click('a[href*="act/resume"], a[href*="act/pause"]')
  await signIn(page)
  assert.match(page.url(), /\/n\/demo\/jobs\/newsletter/)
  await page.close()
})

for (const language of ['en', 'zh']) test(`the sign-in in ${language} passes the accessibility rules, also after a wrong password`, async () => {
  const page = await tab(chromium)
  await page.setExtraHTTPHeaders({ 'accept-language': language })
  await page.deleteCookie(...(await page.cookies(running.address)))
  await page.goto(`${running.address}/n/demo`)
  await page.waitForSelector('input[type=password]')
  const findings = await violations(page)
  await page.type('input[autocomplete=username]', 'anna')
  await page.type('input[type=password]', 'a wrong password')
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
  findings.push(...await violations(page))
  assert.equal(await page.$eval('html', (html) => html.lang.slice(0, 2)), language)
  assert.deepEqual(findings, [])
  await page.close()
})
