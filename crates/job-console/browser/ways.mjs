// Ways to use a page: to follow a link, to fill a field, to tick a box, to send the form.

import assert from 'node:assert/strict'
import { focus } from './harness.mjs'

/** Returns the selector of the closed menu that has a link, if there is one. */
function menuOf(page, selector) {
  return page.$eval(selector, (link) => {
    const menu = link.closest('details.menu:not([open])')
    return menu && `#${menu.closest('[id]').id} details.menu summary`
  })
}

export const WAYS = {
  mouse: {
    follow: async (page, selector) => {
      const menu = await menuOf(page, selector)
      if (menu) await page.click(menu)
      await page.click(selector)
    },
    type: async (page, selector, text) => {
      await page.click(selector, { count: 3 })
      await page.keyboard.type(text)
    },
    paste: async (page, selector, text) => {
      await page.click(selector)
      await page.keyboard.sendCharacter(text)
    },
    // A control of a time shows a calendar of the browser, which a test cannot click.
    time: async (page, selector, time) => {
      await page.click(selector)
      await page.$eval(selector, (control, time) => {
        control.value = time
        control.dispatchEvent(new Event('input', { bubbles: true }))
      }, time)
    },
    tick: (page, selector) => page.click(selector),
    send: (page, selector) => page.click(selector),
  },
  keyboard: {
    follow: async (page, selector) => {
      const menu = await menuOf(page, selector)
      if (menu) {
        await focus(page, menu)
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
    paste: async (page, selector, text) => {
      await focus(page, selector)
      await page.keyboard.sendCharacter(text)
    },
    /** Types the parts of a time in the order in which the browser shows them in English. */
    time: async (page, selector, time) => {
      const [, year, month, day, hours, minutes] = /^(\d+)-(\d+)-(\d+)T(\d+):(\d+)$/.exec(time)
      await focus(page, selector)
      await page.keyboard.type(`${month}${day}${year}`)
      // A year may have more digits, so that the next part is not reached by itself.
      await page.keyboard.press('ArrowRight')
      const hour = String(hours % 12 || 12).padStart(2, '0')
      await page.keyboard.type(`${hour}${minutes}${hours < 12 ? 'A' : 'P'}`)
      assert.equal(await page.$eval(selector, (control) => control.value), time)
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
