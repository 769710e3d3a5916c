// The accessibility rules of axe-core.

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The themes in which a page has to pass the rules. */
const THEMES = ['light', 'dark']

/** Returns the broken accessibility rules of a page in both themes. */
export async function violations(page) {
  await page.evaluate(AXE)
  const found = []
  for (const theme of THEMES) found.push(...await inTheme(page, theme))
  return found
}

async function inTheme(page, theme) {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
  // A colour that is still changing has another contrast.
  await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished)))
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ['violations'] }))
  return violations.map(({ id, nodes }) => {
    const shown = nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')
    return `${page.url()}: ${theme}: ${id}: ${shown}`
  })
}
