// Everything can be reached and done by the keyboard alone.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, browser, focus, tab } from './harness.mjs'

let running
let chromium
let page
let home

before(async () => {
  running = await Console.start()
  chromium = await browser()
  page = await tab(chromium)
  await page.goto(`${running.address}/`)
  home = page.url().replace(/\/$/, '')
})

after(async () => {
  await chromium?.close()
  await running?.end()
})

async function presses(...keys) {
  for (const key of keys) await page.keyboard.press(key)
}

test('g and a letter lead to the sections', async () => {
  const sections = {
    j: 'jobs', s: 'servers', r: 'running', w: 'alerts', t: 'timeline', d: 'doctor', a: 'audit', x: 'transfer',
  }
  for (const [key, section] of Object.entries(sections)) {
    await Promise.all([page.waitForNavigation(), presses('g', key)])
    assert.equal(new URL(page.url()).pathname, `${new URL(home).pathname}/${section}`)
  }
})

test('the palette finds a job', async () => {
  await page.keyboard.down('Control')
  await page.keyboard.press('k')
  await page.keyboard.up('Control')
  await page.waitForSelector('dialog[open] #palette-query')
  await page.keyboard.type('newsl')
  await page.waitForFunction(() => document.querySelector('#palette-found [aria-selected=true]')?.innerText.includes('newsletter'))
  await Promise.all([page.waitForNavigation(), presses('Enter')])
  assert.match(page.url(), /\/jobs\/newsletter$/)
})

test('the palette leads to an operation on the job that it finds', async () => {
  await page.keyboard.down('Control')
  await page.keyboard.press('k')
  await page.keyboard.up('Control')
  await page.waitForSelector('dialog[open] #palette-query')
  await page.keyboard.type('newsl')
  const operation = '#palette-found [href$="/jobs/newsletter/act/pause"]'
  await page.waitForSelector(operation)
  while (!await page.$(`${operation}[aria-selected=true]`)) await presses('ArrowDown')
  await Promise.all([page.waitForNavigation(), presses('Enter')])
  assert.match(page.url(), /\/jobs\/newsletter\/act\/pause$/)
})

test('an operation is performed without a mouse', async () => {
  await page.goto(`${home}/jobs/newsletter`)
  await focus(page, 'a[href*="act/resume"], a[href*="act/pause"]')
  await page.keyboard.press('Enter')
  await page.waitForSelector('dialog[open] #act-why')
  assert.equal(await page.evaluate(() => document.activeElement.id), 'act-why')
  await page.keyboard.type('by keyboard')
  await Promise.all([page.waitForNavigation(), presses('Enter')])
  await page.goto(`${home}/audit`)
  await page.waitForFunction(() => document.querySelector('main').innerText.includes('by keyboard'))
})

test('rows are chosen by j and k, and the list of keys opens', async () => {
  await page.goto(`${home}/jobs`)
  await presses('j', 'j', 'k')
  assert.equal(await page.evaluate(() => document.querySelectorAll('[data-here]').length), 1)
  await presses('?')
  await page.waitForSelector('dialog#keys[open]')
  await presses('Escape')
  await page.waitForFunction(() => !document.querySelector('dialog[open]'))
  await presses('/')
  assert.equal(await page.evaluate(() => document.activeElement.id), 'search')
  assert.deepEqual(page.faults, [])
})
