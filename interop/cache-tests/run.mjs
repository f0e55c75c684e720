// Mark Nottingham's tests of HTTP caches, as one process: their origin on a port of its own, and their client, which asks the
// cache whose URL comes on standard input. Prints how they judge each test. See ../README.md.
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import fetch from 'node-fetch'

// What they print themselves is no result.
console.log = () => {}

const suite = process.argv[2]
// Their repository has other folders by now than the package.
const isPackage = existsSync(`${suite}/client`)
const engine = isPackage ? suite : `${suite}/test-engine`

const { default: handleConfig } = await import(`${engine}/server/handle-config.mjs`)
const { default: handleState } = await import(`${engine}/server/handle-state.mjs`)
const { default: handleTest } = await import(`${engine}/server/handle-test.mjs`)
const { runTests, getResults } = await import(`${engine}/client/runner.mjs`)
const { determineTestResult } = await import(`${engine}/lib/${isPackage ? 'display' : 'results'}.mjs`)
const { default: suites } = await import(`${suite}/tests/index.mjs`)

const WORDS = {
  '✅': 'passed',
  '⛔️': 'failed',
  '⚠️': 'failed',
  Y: 'yes',
  N: 'no',
  '🔹': 'its setup failed',
  '↻': 'it was asked again',
  '⚪️': 'a test that it depends on has not passed',
  '-': 'not for this kind of cache'
}

const HANDLERS = { config: handleConfig, state: handleState, test: handleTest }

function answer (request, response) {
  const [what, ...path] = new URL(request.url, 'http://localhost').pathname.slice(1).split('/')
  if (what in HANDLERS) return HANDLERS[what](path, request, response)
  response.writeHead(404).end()
}

function judged (test) {
  const results = getResults()
  const [how, why] = results[test.id]?.length ? results[test.id] : []
  const [, , symbol] = determineTestResult(suites, test.id, results)
  // They judge what was answered. Without an answer nothing was tested, of whatever kind the test is.
  const isAnswered = how === undefined || how === 'Assertion' || how === 'Setup'
  const verdict = isAnswered ? WORDS[symbol] ?? symbol : 'not answered'
  return { id: test.id, kind: test.kind ?? 'required', verdict, why: why ?? '' }
}

const server = createServer(answer)
server.listen(0, '127.0.0.1', () => process.stdout.write(`listening on 127.0.0.1:${server.address().port}\n`))
const cache = (await text(process.stdin)).trim()
await (isPackage ? runTests(suites, fetch, false, cache) : runTests(suites, false, cache))
process.stdout.write(JSON.stringify(suites.flatMap(({ tests }) => tests.map(judged))), () => process.exit())
