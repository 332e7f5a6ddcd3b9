// A recall the way of qwen-code 0.24.4: read every memory below a folder, read its header, score it, and sort, for every query
// anew. It is the same yardstick as recall/eval/qwencode.go, in the runtime of the original, for benchmarks to stand beside.
//
//   node scan.mjs DIR ROUNDS QUERY    prints the median time of one recall in milliseconds

import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const typeWords = {
  user: ['user', 'preference', 'preferences', 'background', 'role', 'terse'],
  feedback: ['feedback', 'rule', 'rules', 'avoid', 'style', 'summary'],
  project: ['project', 'goal', 'goals', 'incident', 'deadline', 'release'],
  reference: ['reference', 'dashboard', 'ticket', 'docs', 'doc', 'link'],
};

const normalise = (s) => s.normalize('NFKC').toLowerCase();

function tokens(query) {
  const found = new Set();
  const cjk = '\\p{Script=Han}\\p{Script=Hiragana}\\p{scx=Katakana}\\p{Script=Hangul}';
  for (const [run] of normalise(query).matchAll(new RegExp(`[${cjk}]+|[\\p{L}\\p{N}](?:(?![${cjk}])[\\p{L}\\p{M}\\p{N}])*`, 'gu'))) {
    const chars = [...run];
    if (new RegExp(`^[${cjk}]`, 'u').test(run)) {
      for (let i = 0; i + 1 < chars.length; i++) found.add(chars[i] + chars[i + 1]);
    } else if (chars.length >= 3) {
      found.add(run);
    }
  }
  const all = [...found];
  return all.length > 64 ? [...all.slice(0, 32), ...all.slice(-32)] : all;
}

async function read(dir, name) {
  const path = join(dir, name);
  const [info, raw] = await Promise.all([stat(path), readFile(path, 'utf8')]);
  const text = raw.replaceAll('\r\n', '\n');
  const [, head = '', body = text] = /^---\n([\s\S]*?)\n---\n?([\s\S]*)$/.exec(text) ?? [];
  const field = (key) => new RegExp(`^${key}:\\s*(.*)$`, 'm').exec(head)?.[1].trim() ?? '';
  return { path, mtime: info.mtimeMs, title: field('name'), description: field('description'), type: field('type'), body };
}

function score(doc, wanted) {
  const title = normalise(doc.title), description = normalise(doc.description), body = normalise(doc.body.trim().slice(0, 1200));
  let lexical = 0, bonus = 0;
  for (const token of wanted) {
    if (title.includes(token)) lexical += 4;
    if (description.includes(token)) lexical += 3;
    if (body.includes(token)) lexical += 1;
    if (typeWords[doc.type]?.includes(token)) bonus++;
  }
  return lexical && lexical + Math.min(bonus, 2);
}

async function recall(dir, query) {
  const names = (await readdir(dir, { recursive: true })).filter((name) => name.endsWith('.md'));
  const docs = await Promise.all(names.map((name) => read(dir, name)));
  const wanted = tokens(query);
  return docs
    .map((doc) => ({ doc, score: score(doc, wanted) }))
    .filter((hit) => hit.score > 0)
    .sort((a, b) => b.score - a.score || b.doc.mtime - a.doc.mtime)
    .slice(0, 5);
}

const [dir, rounds, query] = process.argv.slice(2);
const took = [];
for (let i = 0; i < Number(rounds); i++) {
  const began = performance.now();
  if ((await recall(dir, query)).length === 0) throw new Error(`nothing found for ${query}`);
  took.push(performance.now() - began);
}
took.sort((a, b) => a - b);
console.log(took[Math.floor(took.length / 2)].toFixed(3));
