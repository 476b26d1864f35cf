"""Trains the tiny qwen4exp model: trunk, indexers and draft head together, within a wall-clock budget.

    train.py --work DIR --out DIR --limit SECONDS [--total SECONDS | --finish]

State lives in --work (data made by corpus.py, a checkpoint every two minutes); a later call resumes from it.  Progress is
measured in seconds of training: --total is what the whole training shall take over all calls; --finish makes this call
the last one and stretches the schedule to its own limit.  At the end of every call the weights (float16 safetensors in
parts below 15 MiB), config.json, the log, and samples are written to --out.
"""
import argparse
import json
import math
import os
import sys
import time

T0 = time.time()
if "torch" not in sys.modules:      # caches on a path that later calls on the same machine find again
    _work = sys.argv[sys.argv.index("--work") + 1] if "--work" in sys.argv else "/tmp/varve-train"
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(_work, "inductor"))
    os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(_work, "triton"))
HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

import numpy as np
import torch
import torch._dynamo
import torch.nn.functional as F

from model import Config, Model, gdn_chunk_torch, gdn_intra


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--work", default="/tmp/varve-train")
    ap.add_argument("--out", default="parts")
    ap.add_argument("--limit", type=float, default=570, help="wall-clock seconds of this call, everything included")
    ap.add_argument("--total", type=float, default=1050, help="seconds of training over all calls")
    ap.add_argument("--finish", action="store_true", help="last call: the schedule ends with this call")
    ap.add_argument("--rows", type=int, default=64, help="sequences of 1024 tokens per step")
    ap.add_argument("--lr", type=float, default=4e-3, help="peak rate of matrices (Muon)")
    ap.add_argument("--lr-adam", type=float, default=2e-3, help="peak rate of norms, gates, router")
    ap.add_argument("--lr-embed", type=float, default=4e-3, help="peak rate of embeddings, head, n-gram table")
    ap.add_argument("--sparse-from", type=float, default=0.12, help="progress at which the sparse selection starts")
    ap.add_argument("--long-from", type=float, default=0.72, help="progress at which sequences become 2048 long")
    ap.add_argument("--draft2-from", type=float, default=0.4, help="progress at which the draft chain's second step is trained")
    ap.add_argument("--no-compile", action="store_true")
    ap.add_argument("--profile", action="store_true", help="print the kernels of three steps")
    ap.add_argument("--precompile", action="store_true", help="compile for all phases now (later calls find the cache)")
    ap.add_argument("--micro", action="store_true", help="a CPU run for checking: a smaller model, float32 (use short rows)")
    ap.add_argument("--trace", action="store_true", help="with --micro: let dynamo trace everything (backend aot_eager)")
    ap.add_argument("--warm", help="folder with weight parts to start from, when no checkpoint is there")
    ap.add_argument("--save-every", type=float, default=120)
    ap.add_argument("--steps", type=int, default=0, help="stop after this many steps (checks)")
    return ap.parse_args()


A = arguments()
DEV = "cuda" if torch.cuda.is_available() and not A.micro else "cpu"
os.makedirs(A.work, exist_ok=True)
os.makedirs(A.out, exist_ok=True)
LOG = open(os.path.join(A.out, "log"), "a")


def say(*a):
    line = f"[{time.time() - T0:6.1f}] " + " ".join(str(x) for x in a)
    print(line, flush=True)
    LOG.write(line + "\n")
    LOG.flush()


def sync():
    if DEV == "cuda":
        torch.cuda.synchronize()


# ---------------------------------------------------------------------------------------------------------------------
# optimiser for matrices: momentum, orthogonalised (Muon), all matrices of one shape in one batch

def newton_schulz(g, steps=5):
    x = g.to(torch.bfloat16 if DEV == "cuda" else torch.float32)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        a = x @ x.mT
        b = torch.baddbmm(a, a, a, beta=-4.7750, alpha=2.0315)
        x = torch.baddbmm(x, b, x, beta=3.4445)
    return x.mT if tall else x


class Muon:
    def __init__(self, params, wd=0.05, momentum=0.95):
        self.wd, self.momentum = wd, momentum
        by = {}
        for p in params:
            by.setdefault(tuple(p.shape[-2:]), []).append(p)
        self.groups = list(by.values())
        self.buf = [torch.zeros(sum(p.numel() // (p.shape[-2] * p.shape[-1]) for p in g), *g[0].shape[-2:], device=g[0].device)
                    for g in self.groups]

    @torch.no_grad()
    def step(self, lr):
        for g, buf in zip(self.groups, self.buf):
            m, n = buf.shape[-2:]
            grad = torch.cat([p.grad.reshape(-1, m, n) for p in g])
            buf.lerp_(grad, 1 - self.momentum)
            u = newton_schulz(grad.lerp_(buf, self.momentum)).float()
            u.mul_(-lr * 0.2 * max(m, n) ** 0.5)
            torch._foreach_mul_(g, 1 - lr * self.wd)
            i = 0
            for p in g:
                k = p.numel() // (m * n)
                p.add_(u[i:i + k].view_as(p))
                i += k

    def state(self):
        return self.buf

    def load(self, s):
        for b, t in zip(self.buf, s):
            b.copy_(t)


def split_params(model):
    muon, adam, embed = [], [], []
    for n, p in model.named_parameters():
        if "embed" in n or n.startswith("lm_head"):
            (muon if "ple.key" in n or "fc_embedding" in n else embed).append(p)
        elif p.ndim < 2 or any(s in n for s in ("conv1d", "block_inject", "mlp.gate.", "shared_expert_gate", "in_proj_a",
                                                "in_proj_b", "indexer")):
            adam.append(p)
        else:
            muon.append(p)
    return muon, adam, embed


def scan_for(compile_):
    """The scan of the gated delta rule: chunks in plain torch, the work inside a chunk compiled."""
    if DEV == "cpu":
        return gdn_chunk_torch
    intra = torch.compile(gdn_intra, dynamic=False) if compile_ else gdn_intra
    return torch.compiler.disable(lambda *a: gdn_chunk_torch(*a, intra=intra))


# ---------------------------------------------------------------------------------------------------------------------
# data

class Rows:
    """Packed rows of L+2 tokens on the device, drawn in a shuffled order that depends on the seed and the epoch only."""

    def __init__(self, path, seed):
        a = np.load(path)
        self.L = a.shape[1] - 2
        self.data = torch.from_numpy(a.astype(np.int16)).to(DEV)
        self.seed, self.n = seed, a.shape[0]
        self.epoch, self.order = -1, None

    def batch(self, cursor, rows):
        """rows sequences at position `cursor` of the endless shuffled stream."""
        out, need = [], rows
        while need:
            e, i = divmod(cursor, self.n)
            if e != self.epoch:
                g = torch.Generator().manual_seed(self.seed * 1000 + e)
                self.order, self.epoch = torch.randperm(self.n, generator=g).to(DEV), e
            take = min(need, self.n - i)
            out.append(self.data[self.order[i:i + take]])
            cursor += take
            need -= take
        return torch.cat(out).long()


def targets(x, eos):
    """Inputs and next-token targets with weight 0 where a row is only padding (separator after separator)."""
    L = x.shape[1] - 2
    t1, t2 = x[:, 1:L + 1], x[:, 2:L + 2]
    w1 = (~((t1 == eos) & (x[:, :L] == eos))).float()
    w2 = (~((t2 == eos) & (t1 == eos))).float()
    return x[:, :L], t1, t2, w1, w2


# ---------------------------------------------------------------------------------------------------------------------

def losses(model, x, sparse, n_idx, draft2):
    c = model.c
    ids, t1, t2, w1, w2 = targets(x, c.eos_token_id)
    X, kls, bals, loads = model.trunk(ids, sparse, n_idx)
    main = model.loss(X, t1, w1)
    mix = model.mtp.hyper_connection_mixer
    G, kl, bal, f = model.draft(X, t1, n_idx)
    d1 = model.loss(G, t2, w2, mix)
    total = main + 0.3 * d1
    d2 = None
    if draft2:
        H2 = torch.cat((X[:, :1], G[:, :-1]), 1)
        G2, _, b2, _ = model.draft(H2, t1, 0)
        d2 = model.loss(G2, t2, w2, mix)
        total = total + 0.12 * d2
        bals = bals + [b2]
    kls, bals, loads = kls + [kl], bals + [bal], loads + [f]
    kl, bal = torch.stack(kls).mean(), torch.stack(bals).mean()
    total = total + kl + 0.005 * bal
    with torch.no_grad():
        stats = torch.stack([main, d1, d2 if d2 is not None else d1 * 0, kl, bal, torch.stack([l.max() for l in loads]).max(),
                             torch.stack([(l == 0).sum() for l in loads]).sum().float()])
    return total, stats


@torch.no_grad()
def evaluate(model, val, rows, sparse=True, depth=3):
    """Validation losses, and how often the draft head's guess equals the trunk's greedy token (depth 1, 2, 3)."""
    c, tot, n, hits, cnt, reach = model.c, 0.0, 0, [0.0] * depth, 0.0, [0.0] * depth
    step = 8 if DEV == "cuda" else 2
    d1 = 0.0
    for i in range(0, rows, step):
        x = val.data[i:i + step].long()
        ids, t1, t2, w1, w2 = targets(x, c.eos_token_id)
        X, *_ = model.trunk(ids, sparse, 0, fns=model.eager)
        lg = model.logits(X, fns=model.eager).float()
        ce = F.cross_entropy(lg.flatten(0, 1), t1.flatten(), reduction="none") * w1.flatten()
        tot += ce.sum().item()
        n += w1.sum().item()
        # teacher forced: row j proposes the token at j+2; the trunk's own choice there is its argmax at row j+1
        want = lg.argmax(-1)[:, 1:]
        ok = w2[:, :-1] > 0
        cnt += ok.sum().item()
        H, alive = X, ok
        for k in range(depth):
            G, *_ = model.draft(H, t1, 0, fns=model.eager)
            lm = model.logits(G, model.mtp.hyper_connection_mixer, fns=model.eager).float()
            if k == 0:
                d1 += (F.cross_entropy(lm.flatten(0, 1), t2.flatten(), reduction="none") * w2.flatten()).sum().item()
            hit = (lm.argmax(-1)[:, :-1] == want)
            hits[k] += (hit & ok).sum().item()
            H = torch.cat((X[:, :1], G[:, :-1]), 1)
    return tot / n, d1 / max(cnt, 1), [h / max(cnt, 1) for h in hits]


class Text:
    def __init__(self):
        from tokenizers import Tokenizer
        self.t = Tokenizer.from_file(os.path.join(HERE, "tokenizer.json"))

    def encode(self, s):
        return self.t.encode(s, add_special_tokens=False).ids

    def decode(self, ids):
        return self.t.decode(ids, skip_special_tokens=False)


@torch.no_grad()
def generate(model, text, prompts, n, temperature=0.0, seed=0):
    """Whole-sequence recomputation, batched: no cache needed at this size."""
    c = model.c
    ids = [text.encode(p) for p in prompts]
    stop = {c.eos_token_id, text.encode("<|im_end|>")[0]}
    start = [len(i) for i in ids]
    done = [False] * len(ids)
    g = torch.Generator(device=DEV).manual_seed(seed)
    for _ in range(n):
        longest = max(len(i) for i in ids)
        x = torch.full((len(ids), -(-longest // 64) * 64), c.eos_token_id, device=DEV)
        for r, i in enumerate(ids):
            x[r, :len(i)] = torch.tensor(i, device=DEV)
        X, *_ = model.trunk(x, True, 0, fns=model.eager)
        last = torch.tensor([len(i) - 1 for i in ids], device=DEV)
        lg = model.logits(X[torch.arange(len(ids), device=DEV), last][:, None], fns=model.eager).float()[:, 0]
        if temperature:
            p = torch.softmax(lg / temperature, -1)
            top = p.topk(40, -1)
            nxt = top.indices.gather(-1, torch.multinomial(top.values, 1, generator=g))[:, 0].tolist()
        else:
            nxt = lg.argmax(-1).tolist()
        for r, t in enumerate(nxt):
            if not done[r]:
                ids[r].append(t)
                done[r] = t in stop
        if all(done):
            break
    return [text.decode(i[s:]) for i, s in zip(ids, start)]


def sample_prompts():
    sys.path.insert(0, HERE)
    import corpus
    out = [("story", "Once upon a time"), ("story", "One rainy morning, a little fox named Pip"),
           ("story", "Mia was a brave girl who lived near the sea.")]
    U = lambda s: [{"role": "user", "content": s}]
    chat = lambda m, tools=None, think=False: corpus.render_chat(m, tools=tools, enable_thinking=think, add_generation_prompt=True)
    out += [("chat", chat(U("Tell me a story about a rabbit named Otto who finds a golden key."))),
            ("chat", chat(U("Write a short story about two friends and a kite."))),
            ("chat", chat(U("What is the opposite of hot?"))),
            ("chat", chat(U("What is 27 + 15?"), think=True)),
            ("chat", chat(U("Which day comes after Tuesday?"))),
            ("chat", chat(U("Who are you?"))),
            ("chat", chat(U("Sort these numbers from small to large: 9, 2, 14, 5"), think=True)),
            ("chat", chat(U("Remember that my dog is called Biscuit.") + [{"role": "assistant", "content": "I will remember that your dog is called Biscuit."}]
                          + U("What is my dog called?"))),
            ("tool", chat(U("What is the weather in Paris?"), tools=corpus.TOOLS_DEMO, think=True)),
            ("tool", chat(U("How much is 128 * 46?"), tools=corpus.TOOLS_DEMO)),
            ("json", chat([{"role": "system", "content": 'Answer only with JSON of this form: {"name": string, "age": number, "city": string}'},
                           {"role": "user", "content": "Lena is 9 years old and lives in Rome."}]))]
    return out


def save_weights(model, out):
    from safetensors.torch import save_file
    model.c.save(os.path.join(out, "config.json"))
    sd = {k: v.detach().float().cpu() for k, v in model.state_dict().items() if v.is_floating_point()}
    assert all(torch.isfinite(v).all() and v.abs().max() < 6e4 for v in sd.values())
    sd = {k: (v if v.numel() <= 8192 else v.half()).contiguous() for k, v in sd.items()}
    parts, limit = [], 15 * 2 ** 20 - 65536
    for k, v in sorted(sd.items(), key=lambda kv: -kv[1].numel()):
        size = v.numel() * v.element_size()
        for p in parts:
            if p[0] + size <= limit:
                p[0] += size
                p[1][k] = v
                break
        else:
            parts.append([size, {k: v}])
    for i, (_, d) in enumerate(parts):
        save_file(d, os.path.join(out, f"part{i}.safetensors"))
    say(f"wrote {len(parts)} parts, {sum(p[0] for p in parts) / 2 ** 20:.1f} MiB")


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    torch._dynamo.config.suppress_errors = True
    torch._dynamo.config.cache_size_limit = 64
    if A.micro:
        torch.set_num_threads(1)
    text = Text()
    eos = text.encode("<|endoftext|>")[0]
    c = Config(eos_token_id=eos, vocab_size=text.t.get_vocab_size())
    if A.micro:
        c = Config(eos_token_id=eos, vocab_size=c.vocab_size, num_hidden_layers=4, num_experts=8, moe_intermediate_size=32,
                   indexer_budget=32)
    model = Model(c, torch.float32 if DEV == "cpu" else torch.bfloat16).init_weights(7).to(DEV)
    data = os.path.join(A.work, "data")
    short, val = Rows(os.path.join(data, "train_short.npy"), 1), Rows(os.path.join(data, "val.npy"), 2)
    long_ = Rows(os.path.join(data, "train_long.npy"), 3)
    say(f"device {DEV}, torch {torch.__version__}; parameters {sum(p.numel() for p in model.parameters()) / 1e6:.2f} M; "
        f"data {short.n} x {short.L} + {long_.n} x {long_.L} tokens, validation {val.n} rows")

    muon_p, adam_p, embed_p = split_params(model)
    muon = Muon(muon_p)
    fused = DEV == "cuda"
    adam = torch.optim.AdamW([dict(params=adam_p, lr=A.lr_adam, weight_decay=0.0), dict(params=embed_p, lr=A.lr_embed, weight_decay=0.01)],
                             betas=(0.9, 0.97), eps=1e-10, fused=fused)
    base_lr = [A.lr_adam, A.lr_embed]
    st = dict(step=0, seconds=0.0, tokens=0, cur_short=0, cur_long=0, curve=[], lr_scale=1.0)
    ck = os.path.join(A.work, "ckpt.pt")

    def load():
        s = torch.load(ck, map_location=DEV, weights_only=False)
        model.load_state_dict(s["model"])
        muon.load(s["muon"])
        adam.load_state_dict(s["adam"])
        st.update(s["st"])

    def save():
        t = time.time()
        torch.save(dict(model=model.state_dict(), muon=muon.state(), adam=adam.state_dict(), st=st), ck + ".new")
        os.replace(ck + ".new", ck)
        say(f"checkpoint at step {st['step']} ({time.time() - t:.1f} s)")

    if os.path.exists(ck):
        load()
        say(f"resumed at step {st['step']}, {st['seconds']:.0f} s of training, {st['tokens'] / 1e6:.0f} M tokens")
    elif A.warm:
        from safetensors.torch import load_file
        sd = {}
        for f in sorted(os.listdir(A.warm)):
            if f.endswith(".safetensors"):
                sd.update(load_file(os.path.join(A.warm, f)))
        model.load_state_dict({k: v.float() for k, v in sd.items()}, strict=False)
        m = os.path.join(A.warm, "metrics.json")
        if os.path.exists(m):
            st.update({k: v for k, v in json.load(open(m)).items() if k in ("seconds", "tokens", "cur_short", "cur_long")})
        say(f"warm start from {len(sd)} tensors, {st['seconds']:.0f} s of training before")

    use_compile = DEV == "cuda" and not A.no_compile
    if use_compile:
        model.fns = {k: torch.compile(f, dynamic=False) for k, f in model.eager.items()}
    if A.trace:
        torch._dynamo.config.suppress_errors = False
        model.fns = {k: torch.compile(f, dynamic=False, backend="aot_eager", fullgraph=True) for k, f in model.eager.items()}
    model.scan = scan_for(use_compile)
    say(f"compiled: {use_compile}")

    if A.precompile and use_compile:
        for src, sparse, draft2 in ((short, False, False), (short, True, True), (long_, True, True)):
            t = time.time()
            rows = max(1, A.rows * short.L // src.L)
            loss, stats = losses(model, src.batch(0, rows), sparse, max(1, rows // 4), draft2)
            loss.backward()
            model.zero_grad(set_to_none=True)
            sync()
            say(f"compiled for {rows} x {src.L}, sparse {sparse}: {time.time() - t:.1f} s, loss {loss.item():.3f}")
    reserve = 45 if DEV == "cuda" else 25          # evaluation, samples, writing
    deadline = T0 + A.limit - reserve
    rows0 = A.rows if not A.micro else 4
    total = A.total
    warm_steps = 200 if DEV == "cuda" else 10
    first_step_of_run = st["step"]
    acc, acc_n, t_log, t_save, t_last = None, 0, time.time(), time.time(), None
    tok_log, started = 0, False
    prof = None
    all_params = muon_p + adam_p + embed_p
    mode = None
    while True:
        now = time.time()
        if t_last is not None and mode == last_mode:
            st["seconds"] += min(now - t_last, 5.0)
        t_last = now
        if A.finish and not started:
            total = st["seconds"] + max(deadline - now - (25 if use_compile else 0), 1.0)
            say(f"finishing: total set to {total:.0f} s")
        started = True
        p = min(st["seconds"] / total, 1.0)
        if now > deadline or p >= 1.0 or (A.steps and st["step"] - first_step_of_run >= A.steps):
            break
        is_long = p >= A.long_from
        src = long_ if is_long else short
        rows = max(1, rows0 * short.L // src.L)
        sparse, draft2 = p >= A.sparse_from, p >= A.draft2_from
        last_mode, mode = mode, (is_long, sparse, draft2)
        if mode != last_mode:
            sync()
            say(f"step {st['step']}: {rows} x {src.L} tokens, sparse {sparse}, second draft step {draft2}")
        key = "cur_long" if is_long else "cur_short"
        x = src.batch(st[key], rows)
        st[key] += rows
        lr = min(1.0, (st["step"] - (0 if not A.warm else first_step_of_run) + 1) / warm_steps) * st["lr_scale"]
        lr *= 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * p))
        for gset, b in zip(adam.param_groups, base_lr):
            gset["lr"] = b * lr
        if A.profile and st["step"] - first_step_of_run == 30 and DEV == "cuda":
            prof = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
            prof.__enter__()
        loss, stats = losses(model, x, sparse, max(1, rows // 4), draft2)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(all_params, 1.0)
        muon.step(A.lr * lr)
        adam.step()
        adam.zero_grad(set_to_none=True)
        st["step"] += 1
        st["tokens"] += rows * src.L
        tok_log += rows * src.L
        acc = stats if acc is None else acc + stats
        acc_n += 1
        if prof is not None and st["step"] - first_step_of_run == 33:
            sync()
            prof.__exit__(None, None, None)
            for line in prof.key_averages().table(sort_by="cuda_time_total", row_limit=25, max_name_column_width=70).splitlines():
                print(line[:170])
            prof = None
        every = 100 if DEV == "cuda" else 5
        if st["step"] % every == 0 or st["step"] - first_step_of_run in (1, 20):
            s = (acc / acc_n).tolist()
            dt = time.time() - t_log
            say(f"step {st['step']} p {p:.3f} lr {lr:.3f} loss {s[0]:.4f} draft {s[1]:.4f} {s[2]:.4f} index {s[3]:.4f} "
                f"balance {s[4]:.3f} max load {s[5]:.2f} idle {s[6]:.0f} | {tok_log / dt / 1e3:.0f} k tokens/s, "
                f"{1e3 * dt / acc_n:.1f} ms/step, {st['tokens'] / 1e6:.1f} M tokens")
            if not all(math.isfinite(v) for v in s):
                if os.path.exists(ck):
                    say("not finite: back to the checkpoint with half the rate")
                    load()
                    st["lr_scale"] *= 0.5
                    st["cur_short"] += 1000
                else:
                    raise SystemExit("not finite before the first checkpoint")
            acc, acc_n, tok_log, t_log = None, 0, 0, time.time()
        if st["step"] % (1000 if DEV == "cuda" else 40) == 0:
            v, d, h = evaluate(model, val, 32 if DEV == "cuda" else 4, sparse)
            st["curve"].append((st["step"], st["tokens"], s[0], v))
            say(f"validation at step {st['step']}: loss {v:.4f} draft {d:.4f} acceptance {[round(x, 3) for x in h]}")
            t_last = None
            t_log, tok_log, acc, acc_n = time.time(), 0, None, 0
        if time.time() - t_save > A.save_every:
            sync()
            save()
            t_save, t_last = time.time(), None
            t_log, tok_log, acc, acc_n = time.time(), 0, None, 0
    sync()
    if DEV == "cuda":
        say(f"peak memory {torch.cuda.max_memory_allocated() / 2 ** 30:.1f} GiB")
    save()
    save_weights(model, A.out)
    nrow = min(val.n, 96 if DEV == "cuda" else 4)
    res = dict(step=st["step"], tokens=st["tokens"], seconds=st["seconds"], cur_short=st["cur_short"], cur_long=st["cur_long"],
               progress=min(st["seconds"] / total, 1.0))
    for name, sp in (("sparse", True), ("dense", False)):
        v, d, h = evaluate(model, val, nrow, sp)
        res[f"val_{name}"], res[f"draft_{name}"], res[f"acceptance_{name}"] = v, d, h
        say(f"final validation ({name}): loss {v:.4f}, draft {d:.4f}, draft head equals trunk {[round(x, 3) for x in h]}")
    if long_.n > 8:
        v, d, h = evaluate(model, Rows(os.path.join(data, "val_long.npy"), 4), 16 if DEV == "cuda" else 2)
        res["val_long"] = v
        say(f"final validation (2048 tokens): loss {v:.4f}")
    res["curve"] = st["curve"]
    json.dump(res, open(os.path.join(A.out, "metrics.json"), "w"), indent=1)
    pr = sample_prompts()
    for temp, n in ((0.0, 220), (0.8, 220)) if DEV == "cuda" else ((0.0, 10),):
        use = pr if temp == 0 else [x for x in pr if x[0] in ("story", "chat")][:6]
        if A.micro:
            use = pr[:2]
        left = A.limit - (time.time() - T0)
        if left < 14 and DEV == "cuda":
            say("no time left for samples")
            break
        outs = generate(model, text, [x[1] for x in use], n if left > 30 else 80, temp, 1)
        for (kind, prm), o in zip(use, outs):
            LOG.write(f"\n=== {kind}, temperature {temp}\n{prm}>>>{o}\n")
            print(f"\n=== {kind}, temperature {temp}\n{prm[-200:]}>>>{o}", flush=True)
    say("done")


if __name__ == "__main__":
    main()
