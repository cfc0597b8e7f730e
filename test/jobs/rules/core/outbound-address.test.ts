import t from 'tap'
import {
  findUrlFault,
  hostOf,
  isAllowedAddress,
  parseNetworks,
} from '../../../../jobs/rules/core/outbound-address.ts'

t.test('only public addresses may be reached', async (t) => {
  const inside = `127.0.0.1 127.1.2.3 10.0.0.5 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 100.64.0.1
    100.100.100.200 168.63.129.16 224.0.0.1 240.0.0.1 255.255.255.255 192.0.2.1 198.18.0.1 :: ::1
    ::ffff:127.0.0.1 ::ffff:a9fe:a9fe 64:ff9b::7f00:1 2002:7f00:1:: fe80::1 fe80::1%eth0 fd00:ec2::254 ff02::1
    2001:db8::1 nonsense`
  for (const address of inside.split(/\s+/)) t.notOk(isAllowedAddress(address, []), address)
  t.notOk(isAllowedAddress('', []), 'nothing')
  for (const address of ['8.8.8.8', '93.184.215.14', '2606:2800:21f:cb07::1', '::ffff:8.8.8.8']) {
    t.ok(isAllowedAddress(address, []), address)
  }
})

t.test('a private network is reached when it was allowed, and no other', async (t) => {
  const allowed = parseNetworks('127.0.0.0/8, fd00::/8')
  t.ok(isAllowedAddress('127.0.0.1', allowed))
  t.ok(isAllowedAddress('::ffff:127.0.0.1', allowed))
  t.ok(isAllowedAddress('fd00::1', allowed))
  t.notOk(isAllowedAddress('10.0.0.1', allowed))
  t.notOk(isAllowedAddress('::1', allowed))
  t.throws(() => parseNetworks('127.0.0.1'))
})

t.test('a URL that is no address for webhooks is named as such', async (t) => {
  const bad = [
    'http://a.com',
    'HTTPS://a.com/',
    'https://u:p@a.com/',
    'https://a.com/\t',
    ' https://a.com',
    'ftp://a',
    'https://',
    'https:/\\a.com',
    `https://${'a'.repeat(3000)}.com`,
  ]
  for (const url of bad) t.ok(findUrlFault(url), url.slice(0, 40))
  t.equal(findUrlFault('https://example.com:8443/hook?x=1'), undefined)
})

t.test('every spelling of an address is the address', async (t) => {
  for (const spelling of [
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '①②⑦.0.0.1',
    '127。0。0。1',
  ]) {
    t.equal(hostOf(`https://${spelling}/`), '127.0.0.1', spelling)
  }
  t.equal(hostOf('https://[::1]/'), '::1')
})
