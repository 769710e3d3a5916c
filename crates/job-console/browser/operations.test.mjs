// Each operation of the pages, by the mouse and by the keyboard alone.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Console, browser, focus, tab } from './harness.mjs'

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

/** Ways to use a page: to follow a link, to fill a field, to tick a box, to send the form. */
const WAYS = {
  mouse: {
    follow: async (page, selector) => {
      const isHidden = await page.$eval(selector, (link) => Boolean(link.closest('details:not([open])')))
      if (isHidden) await page.click('#acts details.menu summary')
      await page.click(selector)
    },
    type: async (page, selector, text) => {
      await page.click(selector, { count: 3 })
      await page.keyboard.type(text)
    },
    tick: (page, selector) => page.click(selector),
    send: (page, selector) => page.click(selector),
  },
  keyboard: {
    follow: async (page, selector) => {
      const isHidden = await page.$eval(selector, (link) => Boolean(link.closest('details:not([open])')))
      if (isHidden) {
        await focus(page, '#acts details.menu summary')
        await page.keyboard.press('Enter')
      }
      await focus(page, selector)
      await page.keyboard.press('Enter')
    },
    type: async (page, selector, text) => {
      await focus(page, selector)
      await page.keyboard.down('Control')
      await page.keyboard.press('a')
      await page.keyboard.up('Control')
      await page.keyboard.type(text)
    },
    tick: async (page, selector) => {
      await focus(page, selector)
      await page.keyboard.press('Space')
    },
    send: async (page, selector) => {
      await focus(page, selector)
      await page.keyboard.press('Enter')
    },
  },
}

/** The operations: the page, the operation, and the object whose removal has to be confirmed. */
function operations(job, server) {
  return [
    [`jobs/${job}`, 'pause'],
    [`jobs/${job}`, 'resume'],
    [`jobs/${job}`, 'disable'],
    [`jobs/${job}`, 'enable'],
    [`jobs/${job}`, 'run'],
    [`jobs/${job}?item=0`, 'disable?item=0'],
    [`jobs/${job}?item=0`, 'enable?item=0'],
    ['jobs/price-update', 'rerun'],
    [`servers/${server}`, 'pause'],
    [`servers/${server}`, 'resume'],
    [`servers/${server}`, 'drain'],
    [`servers/${server}`, 'enable'],
    [`servers/${server}`, 'disable'],
    [`servers/${server}`, 'enable'],
    [`jobs/${job}`, 'shut-down'],
    [`jobs/${job}`, 'remove', job],
    [`servers/${server}`, 'shut-down'],
    [`servers/${server}`, 'remove', server],
  ]
}

/** Waits until the audit log shows a reason. */
async function isRecorded(page, why) {
  await page.goto(`${home}/audit`)
  await page.waitForFunction((why) => document.querySelector('main').innerText.includes(why), {}, why)
}

for (const [name, job, server] of [['mouse', 'archive-logs', '10.0.0.11'], ['keyboard', 'rebuild-index', '10.0.0.12']]) {
  const way = WAYS[name]

  test(`a configuration is changed and restored by ${name}`, async () => {
    const page = await tab(chromium)
    const configuration = `${home}/jobs/${job}/configuration`
    const next = async (selector) => Promise.all([page.waitForNavigation(), way.send(page, selector)])
    await page.goto(configuration)
    const before = await page.$eval('#document', (document) => document.textContent)
    const edit = `a[href$="${job}/configuration/edit"]`
    await Promise.all([page.waitForNavigation(), way.follow(page, edit)])
    await way.type(page, 'main [name=description]', `changed by ${name}`)
    await next('main form button[value=preview]')
    await way.type(page, 'main #act-why', `edited by ${name}`)
    await next('main form button[value=write]')
    await page.waitForFunction((text) => document.getElementById('document').textContent.includes(text), {}, `changed by ${name}`)
    await page.waitForSelector('#former a[href*="restore"]')
    await Promise.all([page.waitForNavigation(), way.follow(page, '#former a[href*="restore"]')])
    await way.type(page, 'main #act-why', `restored by ${name}`)
    await next('main form button[value=write]')
    await page.waitForFunction((text) => document.getElementById('document').textContent === text, {}, before)
    await isRecorded(page, `restored by ${name}`)
    assert.deepEqual(page.faults, [])
    await page.close()
  })

  for (const [index, [place, word, confirmed]] of operations(job, server).entries()) {
    test(`${word} on ${place} by ${name}`, async () => {
      const page = await tab(chromium)
      const why = `${name} ${index}: ${word}`
      // Items that run at this moment have not failed yet, so that a rerun may change nothing.
      for (let attempt = 0; ; attempt += 1) {
        await page.goto(`${home}/${place}`)
        // Operations on an item are beside its other facts.
        const selector = `${word.includes('?item') ? '#item' : '#acts'} a[href$="act/${word}"]`
        await page.waitForSelector(selector)
        await way.follow(page, selector)
        await page.waitForSelector('dialog[open] #act-why')
        await way.type(page, 'dialog[open] [name=why]', why)
        if (confirmed) {
          await way.type(page, 'dialog[open] [name=name]', confirmed)
          if (await page.$('dialog[open] [name=alive]')) await way.tick(page, 'dialog[open] [name=alive]')
        }
        await Promise.all([page.waitForNavigation(), way.send(page, 'dialog[open] button[type=submit]')])
        const isDone = !(await page.$eval('main', (main) => main.innerText)).includes('Nothing changes.')
        if (isDone) break
        assert.ok(word === 'rerun' && attempt < 30, `${word} on ${place} changes nothing`)
      }
      if (confirmed === job) {
        // The records of a job are removed with it.
        await page.goto(`${home}/jobs`)
        await page.waitForFunction((row) => !document.getElementById(row), {}, `j-${job}`)
      } else {
        await isRecorded(page, why)
      }
      // The page of a removed object can be loaded again before the answer to the form leads away.
      const isGone = (fault) => confirmed && fault.includes('404') && fault.endsWith(`/${confirmed})`)
      assert.deepEqual(page.faults.filter((fault) => !isGone(fault)), [])
      await page.close()
    })
  }
}
