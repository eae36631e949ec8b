//! Bytes that are almost right.

/// Tokens that parsers of all kinds stumble over.
const TOKENS: &[&[u8]] = &[
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
    b"{{",
    b"}}",
    b"\"",
    b"\\",
    b"'",
    b":",
    b"- ",
    b"\n",
    b"\n---\n",
    b"&a ",
    b"*a",
    b"!!",
    b"|",
    b"%",
    b"=",
    b",",
    b"..",
    b"*",
    b"@",
    b"zk1:",
    b"heritage=external-dns",
    b"external-dns/owner=",
    b"null",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"\0",
    b"\xff",
    b"\xc0\x0c",
    b"\xc0\x00",
    b"\x00\xfa",
    b"\xe2\x80\xae",
    b"{{range $.Labels}}",
    b"{{end}}",
    b"{{$x := print $x $x}}",
    b"[[[[[[[[",
    b"{\"a\":",
    b"\"result\":",
];

/// Makes one case; the same for the same name, seed and number.
pub struct Mutator(u64);

impl Mutator {
    pub fn new(name: &str, seed: u64, number: u64) -> Self {
        let mut state = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes().chain(seed.to_le_bytes()).chain(number.to_le_bytes()) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        Self(state | 1)
    }

    pub fn mutate(mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.pick(corpus).clone();
        for _ in 0..=self.below(6) {
            self.step(&mut bytes, corpus);
        }
        bytes.truncate(1 << 17);
        bytes
    }

    fn step(&mut self, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        match self.below(10) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.next() as u8,
            2 => bytes.truncate(at),
            3 => {
                let end = (at + 1 + self.below(16)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let token = *self.pick(TOKENS);
                insert(bytes, at, token);
            }
            // Deep nesting and long runs.
            5 => {
                let times = 1 << self.below(15);
                let token = self.pick(TOKENS).repeat(times);
                insert(bytes, at, &token);
            }
            6 => {
                let end = (at + 1 + self.below(64)).min(bytes.len());
                let part = bytes[at..end].repeat(1 + self.below(8));
                insert(bytes, at, &part);
            }
            7 => {
                let other = self.pick(corpus);
                let from = self.below(other.len() + 1);
                let part = other[from..].to_vec();
                bytes.truncate(at);
                bytes.extend(part);
            }
            8 => {
                let number = self.next().to_be_bytes();
                insert(bytes, at, &number[..1 + self.below(8)]);
            }
            _ => {
                let other = self.below(bytes.len() + 1);
                if at < bytes.len() && other < bytes.len() {
                    bytes.swap(at, other);
                }
            }
        }
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
    bytes.splice(at..at, part.iter().copied());
}
