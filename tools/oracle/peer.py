"""llama.cpp as a second opinion: logits, MTP logits, inner tensors and the quantiser, through libllama.

Needs `pip install llama-cpp-py-sync cffi` (or that wheel unpacked on PYTHONPATH). Its libraries want glibc 2.38, so not
Debian 12. Not used by the oracle itself.
"""
import ctypes
import os

import numpy as np
from llama_cpp_py_sync import _cffi_bindings as native

ffi, lib = native.get_ffi(), native.get_lib()
_here = os.path.dirname(native.__file__)
_llama = ctypes.CDLL(os.path.join(_here, "libllama.so.0"))
_base = ctypes.CDLL(os.path.join(_here, "libggml-base.so.0"))
_base.ggml_get_name.restype = ctypes.c_char_p
_base.ggml_get_name.argtypes = [ctypes.c_void_p]
_base.ggml_nbytes.restype = ctypes.c_size_t
_base.ggml_nbytes.argtypes = [ctypes.c_void_p]
_base.ggml_backend_tensor_get.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]
# C++ functions of llama-ext.h, by their Itanium names
_set_nextn = getattr(_llama, "_Z26llama_set_embeddings_nextnP13llama_contextbb")
_set_nextn.argtypes = [ctypes.c_void_p, ctypes.c_bool, ctypes.c_bool]
_get_nextn = getattr(_llama, "_Z26llama_get_embeddings_nextnP13llama_context")
_get_nextn.restype, _get_nextn.argtypes = ctypes.POINTER(ctypes.c_float), [ctypes.c_void_p]

QUIET = os.environ.get("PEER_VERBOSE") is None


@ffi.callback("void(enum ggml_log_level, const char *, void *)")
def _log(level, text, _):
    if not QUIET or level == 4:
        print(ffi.string(text).decode("utf-8", "replace"), end="")


lib.llama_log_set(_log, ffi.NULL)
lib.llama_backend_init()


def version():
    return ffi.string(lib.llama_version()).decode()


class Model:
    def __init__(self, path, mtp=False, plain=True):
        """plain: no weight repacking, so that matrices are multiplied in the types of the file."""
        p = lib.llama_model_default_params()
        p.use_extra_bufts, p.load_mtp, p.n_gpu_layers = not plain, mtp, 0
        self.path = path
        self.m = lib.llama_model_load_from_file(path.encode(), p)
        if self.m == ffi.NULL:
            raise RuntimeError(f"llama.cpp did not load {path}")
        self.vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(self.m))

    def close(self):
        lib.llama_model_free(self.m)

    def context(self, n_ctx, kv="F32", flash=False, batch=None, mtp=False, watch=None):
        p = lib.llama_context_default_params()
        p.n_ctx, p.n_batch, p.n_ubatch = n_ctx, batch or n_ctx, batch or n_ctx
        p.n_threads = p.n_threads_batch = 2
        p.flash_attn_type = -1 if flash else 0
        p.type_k = p.type_v = {"F32": 0, "F16": 1}[kv]
        p.no_perf = True
        if mtp:
            p.ctx_type = lib.LLAMA_CONTEXT_TYPE_MTP
        if watch is not None:
            seen = watch.seen

            @ffi.callback("bool(struct ggml_tensor *, bool, void *)")
            def cb(t, ask, _):
                a = int(ffi.cast("uintptr_t", t))
                name = _base.ggml_get_name(a).decode()
                hit = name.split("-")[0] in watch.names
                if ask or not hit:
                    return hit
                buf = ctypes.create_string_buffer(_base.ggml_nbytes(a))
                _base.ggml_backend_tensor_get(a, buf, 0, len(buf))
                seen.setdefault(name, []).append(buf.raw)
                return True
            watch.cb = cb
            p.cb_eval = cb
        c = lib.llama_init_from_model(self.m, p)
        if c == ffi.NULL:
            raise RuntimeError("llama.cpp made no context")
        return c

    def logits(self, ids, step=None, **kw):
        """[T][V]; step: tokens per decode call (None: all at once)."""
        n = len(ids)
        c = self.context(max(n, 16), **kw)
        out = np.empty((n, self.vocab), np.float32)
        step = step or n
        for a in range(0, n, step):
            part = ids[a:a + step]
            b = lib.llama_batch_init(len(part), 0, 1)
            _fill(b, part, a)
            rc = lib.llama_decode(c, b)
            if rc:
                raise RuntimeError(f"llama_decode returned {rc}")
            for i in range(len(part)):
                out[a + i] = np.frombuffer(ffi.buffer(lib.llama_get_logits_ith(c, i), 4 * self.vocab), np.float32)
            lib.llama_batch_free(b)
        lib.llama_free(c)
        return out

    def wide(self, ids, width, **kw):
        """[T][width]: the residual streams after the last trunk layer."""
        c = self.context(max(len(ids), 16), **kw)
        addr = int(ffi.cast("uintptr_t", c))
        _set_nextn(addr, True, False)
        b = lib.llama_batch_init(len(ids), 0, 1)
        _fill(b, ids, 0)
        if lib.llama_decode(c, b):
            raise RuntimeError("llama_decode failed")
        out = np.ctypeslib.as_array(_get_nextn(addr), (len(ids), width)).copy()
        lib.llama_batch_free(b)
        lib.llama_free(c)
        return out

    def mtp_logits(self, wide, next_ids, **kw):
        """Teacher-forced draft logits [T][V] from (wide [T][w], next_ids [T])."""
        n, width = wide.shape
        c = self.context(max(n, 16), mtp=True, **kw)
        b = lib.llama_batch_init(n, 0, 1)
        _fill(b, next_ids, 0)
        data = np.ascontiguousarray(wide, np.float32)
        b.embd = ffi.cast("float *", data.ctypes.data)
        if lib.llama_decode(c, b):
            raise RuntimeError("llama_decode (MTP) failed")
        out = np.stack([np.frombuffer(ffi.buffer(lib.llama_get_logits_ith(c, i), 4 * self.vocab), np.float32)
                        for i in range(n)])
        b.embd = ffi.NULL
        lib.llama_batch_free(b)
        lib.llama_free(c)
        return out


class Watch:
    """Names of graph nodes whose data a run should copy out; `seen` maps "name-layer" to raw bytes per evaluation."""

    def __init__(self, *names):
        self.names, self.seen = set(names), {}


def _fill(b, ids, first):
    b.n_tokens = len(ids)
    for i, t in enumerate(ids):
        b.token[i], b.pos[i], b.n_seq_id[i], b.logits[i] = int(t), first + i, 1, 1
        b.seq_id[i][0] = 0


def tokenize(model, text, special=True):
    v, raw = lib.llama_model_get_vocab(model.m), text.encode()
    buf = ffi.new("llama_token[]", len(raw) + 16)
    n = lib.llama_tokenize(v, raw, len(raw), buf, len(raw) + 16, False, special)
    return [buf[i] for i in range(n)]


def quantize(src, dst, ftype, imatrix=None, overrides=(), pure=False, output=None, embed=None):
    """llama_model_quantize. imatrix: {tensor: float32 array}; overrides: [(regex, ggml type id)]."""
    p = lib.llama_model_quantize_default_params()
    p.nthread, p.ftype, p.pure, keep = 2, ftype, pure, []
    if output is not None:
        p.output_tensor_type = output
    if embed is not None:
        p.token_embedding_type = embed
    if imatrix:
        arr = ffi.new("struct llama_model_imatrix_data[]", len(imatrix) + 1)
        for i, (name, data) in enumerate(imatrix.items()):
            s = ffi.new("char[]", name.encode())
            data = np.ascontiguousarray(data, np.float32)
            arr[i].name, arr[i].data, arr[i].size = s, ffi.cast("float *", data.ctypes.data), data.size
            keep += [s, data]
        p.imatrix = arr
        keep.append(arr)
    if overrides:
        ov = ffi.new("struct llama_model_tensor_override[]", len(overrides) + 1)
        for i, (pattern, t) in enumerate(overrides):
            s = ffi.new("char[]", pattern.encode())
            ov[i].pattern, ov[i].type = s, t
            keep.append(s)
        ov[len(overrides)].type = 43
        p.tt_overrides = ov
        keep.append(ov)
    rc = lib.llama_model_quantize(src.encode(), dst.encode(), ffi.new("llama_model_quantize_params *", p))
    if rc:
        raise RuntimeError(f"llama_model_quantize returned {rc}")
