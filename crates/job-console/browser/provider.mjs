// An identity provider on loopback with any user, for tests and for a trial of the console.
//
// As a program: node provider.mjs REDIRECT-ADDRESS [PORT]

import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { Provider } from 'oidc-provider'

/**
 * Starts the provider for one console, with a new key. Each user is in the group `ops`.
 *
 * `claims` of the result replace those of the tokens from then on.
 */
export async function startProvider(redirect, port = 0) {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://localhost:${server.address().port}`
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const jwk = { ...key.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' }
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'ejob',
      client_secret: 's3cret-of-the-console',
      redirect_uris: [redirect],
      post_logout_redirect_uris: [redirect.replace(/\/oidc\/callback$/, '')],
    }],
    claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
    jwks: { keys: [jwk] },
    // The console reads the ID token only.
    conformIdTokenClaims: false,
    cookies: { keys: ['a key of a provider for tests'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, groups: ['ops'] }),
    }),
  })
  const started = { issuer, server, claims: {} }
  provider.use(async (context, next) => {
    await next()
    const token = context.body?.id_token
    if (token) context.body.id_token = withClaims(token, started.claims, key)
  })
  server.on('request', provider.callback())
  return started
}

/** Signs a token again, with other claims. */
function withClaims(token, claims, key) {
  const [header, payload] = token.split('.')
  const given = JSON.parse(Buffer.from(payload, 'base64url'))
  const changed = Buffer.from(JSON.stringify({ ...given, ...claims })).toString('base64url')
  const signed = `${header}.${changed}`
  return `${signed}.${createSign('sha256').update(signed).sign(key, 'base64url')}`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , redirect, port] = process.argv
  if (!redirect) throw new Error('usage: node provider.mjs REDIRECT-ADDRESS [PORT]')
  const { issuer } = await startProvider(redirect, Number(port ?? 0))
  console.log(`issuer: ${issuer}`)
}
