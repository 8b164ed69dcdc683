import { createHash } from 'node:crypto';
import type { FindingKind } from '../finding.ts';

/** A text, with the values in it that should be replaced. */
export interface MadeText {
  readonly text: string;
  readonly values: readonly { readonly kind: FindingKind; readonly value: string }[];
}

/** Random characters of an alphabet that are the same in each run. */
function drawn(
  seed: string,
  length: number,
  alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
): string {
  let text = '';
  for (let round = 0; text.length < length; round += 1) {
    const digest = createHash('sha256').update(`${seed} ${round}`).digest();
    text += [...digest].map((byte) => alphabet[byte % alphabet.length]).join('');
  }
  return text.slice(0, length);
}

const hex = (seed: string, length: number): string => drawn(seed, length, '0123456789abcdef');

/** Given and family names from many countries. The detector's word list was not consulted. */
const names =
  'Maria Schneider|Thomas Okonkwo|Anna Kowalska|Priya Raghunathan|John Smith|Jürgen Weiß|François Lefèvre|Chen Wei|Mohammed Al-Farsi|Yuki Tanaka|Sofia Rodriguez|Olumide Adeyemi|Katarzyna Nowak|Nguyen Van Minh|Fatima Zahra Benali|Lars Johansson|Giulia Romano|Kim Min-jun|Dmitri Volkov|Aoife O’Brien|Emily Carter|Michael Johnson|Siobhan Kelly|Rahul Gupta|Ingrid Solberg|Mateusz Wiśniewski|Chiara Bianchi|Ahmed Hassan|Hannah Fischer|Daniel Kim|Beatriz Souza|Pedro Alvarez|Zeynep Yılmaz|Kwame Mensah|Elena Popescu|Hiroshi Yamamoto|Amara Nwosu|Sven Lindqvist|Camille Dubois|Robert J. Miller'.split(
    '|',
  );
const streets =
  '221B Baker Street|1600 Pennsylvania Avenue|42 Elm Road, Apt 5|Hauptstraße 12|Lindenweg 7a|Am Kupfergraben 6|12 rue de la Paix|Calle Mayor 31|Via Roma 12|350 Fifth Ave|77 Massachusetts Ave|Bahnhofplatz 3|8 Sunset Blvd|ul. Marszałkowska 10|Storgata 15'.split(
    '|',
  );
const phones =
  '+49 30 901820|+1 202 555 0173|(212) 555-0187|415-555-0132|+44 20 7946 0958|+33 1 70 18 99 00|020 7946 0999|+91 98765 43210|+48 22 555 01 23|0171 5550123|+81-3-5550-1234|555-0199'.split(
    '|',
  );
const cards = [
  '4111 1111 1111 1111',
  '5555555555554444',
  '3782 822463 10005',
  '6011-1111-1111-1117',
  '4000056655665556',
];
const ibans = [
  'DE89 3704 0044 0532 0130 00',
  'GB82WEST12345698765432',
  'FR14 2004 1010 0505 0001 3M02 606',
  'NL91ABNA0417164300',
  'ES9121000418450200051332',
];
const numbers = ['078-05-1120', '219-09-9999', '457-55-5462'];
const ips = ['203.0.113.42', '198.51.100.7', '93.184.216.34', '81.2.69.142'];
const emails = names.map((name, at) => {
  const plain = name
    .normalize('NFD')
    .replace(/[^a-z ]/gi, '')
    .toLowerCase()
    .split(' ');
  return `${plain.join(at % 2 === 0 ? '.' : '_')}@${['example.com', 'mail.example.org', 'acme.co.uk', 'firma.example.de'][at % 4]}`;
});

/** Keys of known services, and secrets that nobody can know by their form. Drawn here, so that no scanner takes them for real. */
const keys = [0, 1, 2].flatMap((at) => [
  `ghp_${drawn(`github ${at}`, 36)}`,
  `AKIA${drawn(`aws ${at}`, 16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`,
  `xoxb-${drawn(`a ${at}`, 12, '123456789')}-${drawn(`b ${at}`, 13, '123456789')}-${drawn(`slack ${at}`, 24)}`,
  `sk_live_${drawn(`stripe ${at}`, 24)}`,
  `npm_${drawn(`npm ${at}`, 36)}`,
  `glpat-${drawn(`gitlab ${at}`, 20)}`,
  `sk-ant-api03-${drawn(`anthropic ${at}`, 93)}AA`,
  `sk-proj-${drawn(`openai ${at}`, 48)}`,
  `hf_${drawn(`hugging ${at}`, 34)}`,
  `AIza${drawn(`google ${at}`, 35)}`,
  `eyJ${drawn(`h ${at}`, 20)}.eyJ${drawn(`p ${at}`, 40)}.${drawn(`s ${at}`, 43)}`,
  `sotto_inf_${drawn(`own ${at}`, 32)}`,
  `-----BEGIN PRIVATE KEY-----\n${drawn(`pem ${at}`, 64)}\n${drawn(`pem2 ${at}`, 64)}\n-----END PRIVATE KEY-----`,
]);
const secrets = [0, 1, 2, 3].flatMap((at) => [
  drawn(`random ${at}`, 24),
  hex(`hex ${at}`, 40),
  ['Tr0ub4dor&3x', 'correct-horse-battery-9', 'Winter2026!', 'S3cr3t-p@ss'][at] ?? '',
]);

/** Texts as agents and people send them. Each slot is a value that should be replaced. */
const templates: readonly string[] = [
  'Please write to {NAME} at {EMAIL} about the open invoice.',
  'commit 9c1185a5c5e9fc54612808977ee8f548b2258d31\nAuthor: {NAME} <{EMAIL}>\nDate:   Mon Nov 30 04:46:37 2026 +0100\n\n    Fix the parser for empty lines',
  'The customer {NAME} called twice from {PHONE} and lives at {ADDRESS}.',
  '{"id": 4711, "fullName": "{NAME}", "email": "{EMAIL}", "phone": "{PHONE}", "street": "{ADDRESS}", "status": "active"}',
  'name,email,city\n{NAME},{EMAIL},Springfield\n{NAME},{EMAIL},Shelbyville\n',
  'Dear {NAME},\n\nyour card {CARD} was charged. Refunds go to {IBAN}.\n\nKind regards,\n{NAME}',
  'I met {NAME} and {NAME} yesterday; they work with Kubernetes and Postgres.',
  'Patient: {NAME}, SSN {NUMBER}, phone {PHONE}. Diagnosis pending.',
  '2026-11-30T04:46:37Z INFO login ok user={EMAIL} ip={IP} status=200 bytes=5123',
  'const client = new Client({ apiKey: "{KEY}", timeout: 3000 });',
  'export GITHUB_TOKEN={KEY}\nexport PATH=$PATH:/usr/local/bin',
  'The key is {KEY}, please do not share it.',
  'DB_PASSWORD={SECRET}\nDB_HOST=localhost\nDB_PORT=5432',
  '{"clientSecret": "{SECRET}", "retries": 3}',
  'db:\n  user: app\n  password: "{SECRET}"\n  pool: 10',
  'curl -H "Authorization: Bearer {SECRET24}" https://api.example.com/v1/items',
  'DATABASE_URL=postgres://app:{SECRET24}@db.internal.example:5432/main',
  'My password is {SECRET}, can you log in and check?',
  'use {SECRET24} when it asks',
  'Meeting with {NAME} at {ADDRESS} on Tuesday, dial in: {PHONE}.',
];

/** Texts without any such value. All that is found in them is wrong. */
const clean: readonly string[] = [
  'import { Server } from "node:http";\nclass UserService extends BaseService {\n  constructor(private readonly repo: UserRepo) { super(repo); }\n  async findAll(): Promise<User[]> { return this.repo.find({ where: { active: true } }); }\n}',
  'npm error code ERESOLVE\nnpm error While resolving: app@1.2.3\nnpm error Found: react@18.2.0\nnpm error Could not resolve dependency: peer react@"^17.0.0" from @testing-library/react-hooks@8.0.1',
  'The Quick Start guide shows how to use Docker Compose with Visual Studio Code and GitHub Actions. New York and San Francisco are supported regions. See the Apache License, Version 2.0.',
  'diff --git a/src/index.ts b/src/index.ts\nindex 3f2a9c1..b7d4e8f 100644\n--- a/src/index.ts\n+++ b/src/index.ts\n@@ -1,7 +1,7 @@\n-const token = import.meta.env.API_TOKEN;\n+const token = config.get("api.token");',
  'password: settings.DB_PASSWORD,\nsecret: readSecret("session"),\napiKey: secrets.API_KEY,\ntoken: string;\nconst accessToken: AccessToken = await getAccessToken();',
  "SELECT u.id, u.created_at FROM users u WHERE u.id = 1234567890 AND u.updated_at > '2026-11-30 12:30:00' LIMIT 100;",
  'Listening on 127.0.0.1:4999 and 192.168.1.20. Version 1.2.3.4. PID 48213. Uptime 86400 s. Request 550e8400-e29b-41d4-a716-446655440000 took 12.345 ms.',
  'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  package-lock.json\n"integrity": "sha512-V0g9CcyxaTkUuYdpWCDLMBpLXmQvjoKk8yBFZlYvLbkTBjgu2tP8YVPHvTLqV5aTTjwB3GsUG1TVCL0YQXkKAA=="',
  'You are a coding agent. Use the Read tool to read files and the Bash tool to run commands. Never commit secrets. Keep the token budget in mind: max_tokens is 4096. The Edit tool replaces text. Ask Before You Delete Anything.',
  'git clone git@github.com:acme/widgets.git && cd widgets && make test\nRemote: https://github.com/acme/widgets/pull/1234',
  'Error: connect ECONNREFUSED 10.0.0.5:5432\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)\n    at async Pool.connect (/app/node_modules/pg-pool/index.js:45:11)',
  '# Design Notes\n\nThe Token Service signs requests. Each Access Token lives for 10 minutes. Primary Key and Foreign Key names follow Rails. Use Black Friday numbers for Load Tests. Hash Map, Binary Search, Merge Sort.',
  'GET /v1/models 200 in 12 ms; retry-after: 30; etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"; x-request-id: req_01HZX3Q9K5W8',
  'def test_parse(self):\n    self.assertEqual(parse("12-34-56"), [12, 34, 56])\n    phone_pattern = re.compile(r"^\\d{3}-\\d{4}$")\n    secret_name = "projects/demo/secrets/name"',
  'The function takes 16 bytes 0x4111111111111112 and returns 4111111111111112. Order 3782 822463 10006 was shipped on 2026-11-30 with DHL; tracking 00340434161094042557.',
  'Grant Access to the Page. Mark Complete. Will Retry. May Fail. Jackson, Jenkins, Claude Code, Gemini, Mistral Large, Llama and Julia are names of programs. Monte Carlo, Las Vegas, Santa Clara.',
];

const pools: Readonly<Record<string, readonly [kind: FindingKind, values: readonly string[]]>> = {
  NAME: ['NAME', names],
  EMAIL: ['EMAIL', emails],
  PHONE: ['PHONE', phones],
  ADDRESS: ['ADDRESS', streets],
  CARD: ['CARD', cards],
  IBAN: ['IBAN', ibans],
  NUMBER: ['NUMBER', numbers],
  IP: ['IP', ips],
  KEY: ['SECRET', keys],
  SECRET: ['SECRET', secrets],
  SECRET24: ['SECRET', secrets.filter(({ length }) => length === 24)],
};

/** Fills each template many times, so that every value of the lists stands in several. */
export function madeSet(): readonly MadeText[] {
  const used = new Map<string, number>();
  const filled = Array.from({ length: 20 }, () => templates)
    .flat()
    .map((template): MadeText => {
      const values: { kind: FindingKind; value: string }[] = [];
      const text = template.replace(/\{([A-Z]+\d*)\}/g, (slot, name: string) => {
        const pool = pools[name];
        if (pool === undefined) return slot;
        const at = used.get(name) ?? 0;
        used.set(name, at + 1);
        const value = pool[1][at % pool[1].length] ?? '';
        values.push({ kind: pool[0], value });
        return value;
      });
      return { text, values };
    });
  return [...filled, ...clean.map((text) => ({ text, values: [] }))];
}
