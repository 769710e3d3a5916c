// Makes the pictures of docs/console.md from the demonstration.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Console, browser, tab } from './harness.mjs'

const PICTURES = [
  { name: 'overview', path: '', theme: 'light' },
  { name: 'job', path: '/jobs/price-update', theme: 'light' },
  { name: 'jobs-dark', path: '/jobs', theme: 'dark' },
  { name: 'job-phone', path: '/jobs/price-update', theme: 'dark', width: 360, height: 740 },
]

const folder = process.argv[2]
await mkdir(folder, { recursive: true })
const running = await Console.start()
const chromium = await browser()
try {
  const first = await tab(chromium)
  await first.goto(`${running.address}/`)
  const home = first.url().replace(/\/$/, '')
  // The jobs of the demonstration have failed and hung at this point.
  await first.goto(`${home}/jobs/price-update`)
  await first.waitForSelector('.st.fail')
  await first.goto(`${home}`)
  await first.waitForFunction(() => document.querySelectorAll('main tbody tr').length >= 3)
  for (const { name, path, ...options } of PICTURES) {
    const page = await tab(chromium, { width: 1280, height: 800, ...options })
    await page.bringToFront()
    await page.goto(home + path)
    await page.screenshot({ path: join(folder, `${name}.png`) })
    await page.close()
  }
} finally {
  await chromium.close()
  await running.end()
}
