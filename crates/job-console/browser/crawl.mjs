// Finds the pages of a console by following its links and filling in its filters.

import assert from 'node:assert/strict'
import { tab } from './harness.mjs'

/** Most pages of one kind that are visited, such as pages of jobs. */
const OF_A_KIND = 2

/** Returns the kind of a page: its path with the names replaced, and the names of its parameters. */
export function kindOf(address) {
  const { pathname, searchParams } = new URL(address)
  const path = pathname.replace(/(\/(?:n|jobs|servers|groups|items|runs)\/)(?!removal)[^/]+/g, '$1…')
  return `${path}?${[...searchParams.keys()].sort()}`
}

/** Returns the addresses to which a page leads: its links, and each of its filters with a value. */
function leadsTo(page) {
  return page.evaluate(() => {
    // A download is no page.
    const links = [...document.querySelectorAll('a[href]:not([download])')].map((link) => link.href.replace(/#.*/, ''))
    const filters = [...document.querySelectorAll('main form[role=search]')].flatMap((form) => {
      const fields = [...form.querySelectorAll('input[type=search], input[type=text], select')]
      return fields.map((field) => {
        const address = new URL(form.action || location.href)
        const value = field.localName === 'select' ? [...field.options].at(-1).value : 'a'
        address.search = new URLSearchParams([[field.name, value]])
        return address.href
      })
    })
    return [...links, ...filters]
  })
}

/**
 * Opens a page; returns false if its object, such as an instance, has ended since the page was
 * found.
 */
export async function opens(page, open) {
  const known = page.faults.length
  const response = await open()
  if (response.status() !== 404) return true
  page.faults.length = known
  return false
}

/** Returns the addresses of at most a few pages of each kind, from the first page on. */
export async function crawl(chromium, origin) {
  const page = await tab(chromium)
  const first = `${origin}/`
  const [seen, queue, kinds] = [new Set(), [{ address: first, from: first }], new Map()]
  const found = []
  while (queue.length) {
    const { address, from } = queue.shift()
    const known = page.faults.length
    const response = await page.goto(address)
    if (response.status() === 404) {
      // The object of the link may have ended meanwhile; then no page links to it any more.
      page.faults.length = known
      await page.goto(from)
      assert.ok(!(await leadsTo(page)).includes(address), `${from} links to ${address}, which is missing`)
      continue
    }
    const type = response.headers()['content-type'] ?? ''
    assert.equal(response.status(), 200, address)
    if (!type.startsWith('text/html')) continue
    found.push(page.url())
    for (const link of await leadsTo(page)) {
      if (!link.startsWith(origin) || seen.has(link)) continue
      seen.add(link)
      const kind = kindOf(link)
      const of = kinds.get(kind) ?? 0
      if (of < OF_A_KIND) queue.push({ address: link, from: page.url() })
      kinds.set(kind, of + 1)
    }
  }
  assert.deepEqual(page.faults, [])
  await page.close()
  return [...new Set(found)]
}
