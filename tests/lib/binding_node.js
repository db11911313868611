// SPDX-License-Identifier: Apache-2.0
// The Node package at work; in a directory of its own.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const { AgentboxError, Sandbox } = require(process.env.BINDING);

const tests = {
  async run() {
    const box = new Sandbox();
    const result = await box.run(['sh', '-c', 'echo out; echo err >&2; exit 3']);
    assert.deepStrictEqual([result.exitCode, String(result.stdout), String(result.stderr)], [3, 'out\n', 'err\n']);
    assert(result.sandboxed && !result.timedOut && result.enforced.includes('seccomp'));
    assert.strictEqual(String((await box.run('pwd', { cwd: '/usr' })).stdout), '/usr\n');
    assert((await box.run('sleep 60', { timeoutMs: 300 })).timedOut);
    assert.strictEqual((await box.run('exit 125')).exitCode, 125);
    await assert.rejects(box.run(['no-such-program']), (e) => e instanceof AgentboxError && e.exitCode === 127 && e.hint !== '');
    await assert.rejects(box.run('rm -rf /'), (e) => e.exitCode === 126);
    await assert.rejects(box.run([]), TypeError);
  },

  async stream() {
    const seen = [];
    const result = await new Sandbox().run('echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2', {
      timeoutMs: 60000,
      onOutput(stream, bytes) {
        seen.push([stream, String(bytes)]);
        if (String(bytes).includes('one')) fs.writeFileSync('go', ''); // the command waits for it
      },
    });
    fs.rmSync('go');
    assert.strictEqual(result.exitCode, 0);
    assert.deepStrictEqual(seen, [[1, 'one\n'], [2, 'two\n']]);
  },

  async input() {
    const data = Buffer.alloc(1 << 20, 'x');
    assert((await new Sandbox().run(['cat'], { stdin: data })).stdout.equals(data));
    assert.strictEqual((await new Sandbox().run(['true'], { stdin: data })).exitCode, 0);
  },

  // What somebody tries who has not read anything.
  async stranger() {
    await assert.rejects(new Sandbox({}, { program: '/nowhere/agentbox' }).run('true'),
      (e) => e instanceof AgentboxError && e.exitCode === 125 && /AGENTBOX/.test(e.hint));
    assert.strictEqual((await new Sandbox({ network: { mode: undefined } }).run('true', { timeoutMs: 59999.5 })).exitCode, 0);
    await assert.rejects(new Sandbox().run('echo x; sleep 60', { onOutput() { throw new RangeError('mine'); } }), RangeError);
    await assert.rejects(new Sandbox().run('kill 1234567'), (e) => e.exitCode === 126 && /approver/.test(e.hint));
    assert((await new Sandbox({ network: false }).run('true')).sandboxed);
    assert.deepStrictEqual(new Sandbox({ network: true }).settings, ['--set', 'network.mode=allowed']);
    assert.throws(() => new Sandbox({ filesystem: { exclude: [{ path: '.env' }] } }), /'filesystem.exclude' must be a text/);
    assert.throws(() => new Sandbox({}, { aprove() {} }), /no option 'aprove'; there are approve, program/);
    await assert.rejects(new Sandbox().run('true', { timeout: 5 }), /no option 'timeout'; there are .*timeoutMs/);
    await assert.rejects(new Sandbox().check('true', { timeoutMs: 5 }), TypeError);
    // Rules of the configuration are asked about, too.
    const asked = [];
    const rules = { classifier: { rules: [{ pattern: 'ls *', decision: 'escalated' }] } };
    const box = new Sandbox(rules, { approve: ({ rule }) => asked.push(rule) === 1 });
    assert.strictEqual((await box.run('ls /')).exitCode, 0);
    await assert.rejects(box.run('ls /'), (e) => e.exitCode === 126 && /did not say true/.test(e.hint));
    assert.deepStrictEqual(asked, ['custom: ls *', 'custom: ls *']);
  },

  async approve() {
    const asked = [];
    const box = new Sandbox({}, {
      approve(question) {
        asked.push(question.rule);
        if (question.command.includes('777')) throw new Error('cannot ask');
        return question.command.includes('1234567');
      },
    });
    assert.strictEqual((await box.check('kill 1234567')).decision, 'escalated');
    assert.strictEqual((await box.run('kill 1234567')).exitCode, 1);
    await assert.rejects(box.run('kill 7654321'), (e) => e.exitCode === 126);
    await assert.rejects(box.run('kill 777'), (e) => e.exitCode === 126);
    assert.deepStrictEqual(asked, ['process-kill', 'process-kill', 'process-kill']);
    await assert.rejects(new Sandbox().run('kill 1234567'), (e) => e.exitCode === 126);
  },

  async update() {
    const other = process.env.OTHER;
    const box = new Sandbox();
    assert.notStrictEqual((await box.run(['touch', `${other}/a`])).exitCode, 0);
    box.update({ filesystem: { rw: [other] }, environment: { set: { GREETING: 'a=b c' } } });
    assert.strictEqual((await box.run(`touch ${other}/a; echo "$GREETING"`)).stdout.toString(), 'a=b c\n');
    assert.notStrictEqual((await box.run(['touch', `${other}/c`], { settings: { filesystem: { ro: [other] } } })).exitCode, 0);
    assert.deepStrictEqual(fs.readdirSync(other), ['a']);
    box.update({ filesystem: { rx: ['/'] } });
    await assert.rejects(box.run('true'), (e) => e.exitCode === 125 && /rx/.test(e.message));
  },

  // The command's variables are not the program's: nothing that it brings along runs or rules outside.
  async environment() {
    fs.mkdirSync('home/.config/agentbox', { recursive: true });
    fs.writeFileSync('home/.config/agentbox/config.json', '{ "no": "configuration" }');
    fs.mkdirSync('bin');
    fs.writeFileSync('bin/agentbox', '#!/bin/sh\ntouch ran\n', { mode: 0o755 });
    fs.copyFileSync(process.env.AGENTBOX, 'bin/own');
    const home = `${process.cwd()}/home`;
    const env = { HOME: home, XDG_CONFIG_HOME: `${home}/.config`, PATH: `${process.cwd()}/bin:/usr/bin:/bin`, LD_PRELOAD: '/x.so', A: 'b' };
    const result = await new Sandbox().run('echo $HOME $XDG_CONFIG_HOME $A $LD_PRELOAD', { env });
    assert.strictEqual(String(result.stdout), `${home} ${home}/.config b\n`);
    assert.strictEqual(String(result.stderr), '');
    assert.strictEqual(String((await new Sandbox().run('echo $A', { env: { A: 'b' } })).stdout), 'b\n');
    await assert.rejects(new Sandbox({}, { program: 'agentbox-of-nobody' }).run('true'), (e) => e.exitCode === 125);
    const paths = process.env.PATH;
    process.env.PATH = '/usr/bin:/bin';
    try {
      await new Sandbox({}, { program: 'agentbox' }).run('true', { env }).catch(() => {}); // there may be one
      process.env.PATH = `${process.cwd()}/bin`;
      assert.strictEqual(String((await new Sandbox({}, { program: 'own' }).run('echo $A', { env: { A: 'b' } })).stdout), 'b\n');
    } finally {
      process.env.PATH = paths;
    }
    assert(!fs.existsSync('ran'));
    fs.rmSync('home', { recursive: true });
    fs.rmSync('bin', { recursive: true });
  },

  async bounds() {
    const seen = [0, 0, 0];
    const box = new Sandbox({ maxOutputBytes: 1000 });
    const result = await box.run('head -c 3000 /dev/zero; head -c 1000 /dev/zero >&2', {
      onOutput(stream, bytes) { seen[stream] += bytes.length; },
    });
    assert.deepStrictEqual([result.stdout.length, result.stderr.length, seen], [1000, 1000, [0, 3000, 1000]]);
    assert.deepStrictEqual(result.truncated, { stdout: true, stderr: false });
    assert.strictEqual((await box.run('head -c 3000 /dev/zero', { settings: { maxOutputBytes: '2K' } })).stdout.length, 2048);
    assert.strictEqual((await new Sandbox().run('head -c 11000000 /dev/zero')).stdout.length, 10485760);
    assert.strictEqual((await new Sandbox({ maxOutputBytes: 0 }).run('head -c 11000000 /dev/zero')).stdout.length, 11000000);
    await assert.rejects(new Sandbox().run('cat', { stdin: 5 }), TypeError);
    // Who is told that it was ended finds nothing running.
    const abort = new AbortController();
    const run = new Sandbox().run('trap "sleep 1; touch ended; exit" TERM; echo x; while :; do sleep 0.05; done', {
      signal: abort.signal, onOutput: () => abort.abort(),
    });
    await assert.rejects(run, (e) => e.name === 'AbortError');
    fs.rmSync('ended');
  },

  async violations() {
    const result = await new Sandbox().run(['curl', '-sS', '--max-time', '30', 'https://refused.example.com']);
    assert.notStrictEqual(result.exitCode, 0);
    const found = result.violations.find((v) => v.host === 'refused.example.com');
    assert(found && found.operation === 'network' && found.port === 443, JSON.stringify(result.violations));
    assert.match(found.grant, /--allow-domain/);
  },
};

(async () => {
  for (const [name, test] of Object.entries(tests)) {
    await test();
    console.log('ok', name);
  }
})().catch((e) => {
  console.error(e);
  process.exit(1);
});
