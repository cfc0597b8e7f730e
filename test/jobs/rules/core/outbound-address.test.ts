import ipaddr from 'ipaddr.js'
import t from 'tap'
import {
  findCalledUrlFault,
  findUrlFault,
  hostOf,
  isAllowedAddress,
  isInNetworks,
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

t.test('no address of the registries of special addresses is reached', async (t) => {
  // https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry: of each
  // range its first and last address.
  const ranges = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
    192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15
    198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
    ::/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32
    2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`
  for (const range of ranges.split(/\s+/)) {
    const family = range.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4
    const first = family.networkAddressFromCIDR(range)
    const last = family.broadcastAddressFromCIDR(range)
    for (const address of [first, last]) {
      t.notOk(isAllowedAddress(address.toString(), []), `${range}: ${address.toString()}`)
    }
  }
  for (const address of ['::127.0.0.1', '::8.8.8.8', '64:ff9b::8.8.8.8', '4000::1', '8000::1']) {
    t.notOk(isAllowedAddress(address, []), address)
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

t.test('networks hold their addresses, however these are written, and nothing else', async (t) => {
  const networks = parseNetworks('127.0.0.0/8, fd00::/8')
  for (const address of ['127.9.9.9', '::ffff:127.0.0.1', 'fd00::1', 'fd00::1%eth0']) {
    t.ok(isInNetworks(address, networks), address)
  }
  for (const address of ['8.8.8.8', '::127.0.0.1', '2606:2800:21f:cb07::1', 'localhost', '']) {
    t.notOk(isInNetworks(address, networks), address)
  }
})

t.test('a runner is called over https, and plainly in the allowed networks only', async (t) => {
  const allowed = parseNetworks('127.0.0.0/8')
  const good =
    'https://a.com/run https://8.8.8.8 https://127.0.0.1:9 http://127.1:9/run http://runner'
  for (const url of good.split(' ')) t.equal(findCalledUrlFault(url, allowed), undefined, url)
  for (const url of ['http://8.8.8.8/', 'http://10.0.0.1/', 'http://[::1]/']) {
    t.match(findCalledUrlFault(url, allowed), 'must start with https://', url)
  }
  for (const url of ['https://10.0.0.1/', 'https://[::1]/', 'https://169.254.169.254/']) {
    t.match(findCalledUrlFault(url, allowed), 'may not be reached', url)
  }
  t.match(findCalledUrlFault('http://runner', []), 'must start with https://')
  t.match(findCalledUrlFault('ftp://a.com', allowed), 'must start with https:// or http://')
  t.match(findCalledUrlFault('http://u:p@127.0.0.1', allowed), 'credentials')
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
