"""The page of `hemera serve --page` in a browser, driven by its DevTools. NumPy judges."""

import json
import shutil
import subprocess
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

import hemera as hm
from hemera.errors import FileError
from hemera.serving.home import Home

from .serving.conftest import serving
from .test_wasm_client import RNG, ROOT, module

__all__ = ["module"]


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(ROOT / "clients" / "javascript", tmp_path / "page"))


def test_anyone_gets_the_page_and_nothing_beside_it(folder, tmp_path):
    home = Home(tmp_path / "home")
    (tmp_path / "beside.html").write_text("beside")
    (folder / "hemera_client.wasm").write_bytes(b"\0asm")
    with serving(home, page=str(folder)) as server, httpx.Client(base_url=server.url) as http:
        for name, kind in (
            ("", "text/html"),
            ("page.mjs", "text/javascript"),
            ("hemera_client.wasm", "application/wasm"),
        ):
            answer = http.get(f"/page/{name}")
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith(kind)
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        for beside in (
            "/page/../beside.html",
            "/page/%2e%2e/beside.html",
            "/page/..%2fbeside.html",
            "/page/none",
        ):
            assert http.get(beside).status_code == 404
        assert http.get("/v1/models").status_code == 401
    with serving(home) as server, httpx.Client(base_url=server.url) as http:
        assert http.get("/page/index.html").status_code == 404
    (folder / "index.html").unlink()
    with pytest.raises(FileError, match=r"no index\.html"), serving(home, page=str(folder)):
        pass


def test_the_page_of_a_server_asks_its_models(module, folder, tmp_path):
    """`hemera serve --page` in a browser: typed numbers, a row of a file, a drawing."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("there is no chromium on this machine (package chromium)")
    shutil.copy(module, folder)
    home = Home(tmp_path / "home")
    plan = hm.compile(lambda x: (x.mean(), x.var()), hm.ArraySpec((5,), range=(0, 9)), name="study")
    home.add_model(plan.package)
    weights = RNG.normal(size=(784, 3)) / 28
    plan = hm.compile(lambda x: x @ weights, hm.ArraySpec((784,), range=(0, 1)), name="picture")
    home.add_model(plan.package)
    token = home.clients.add("page")

    def typed(name, text):
        return f"document.getElementById({name!r}).value = {json.dumps(text)}"

    def sent(form, event="submit"):
        told = f"new Event({event!r}, {{ bubbles: true, cancelable: true }})"
        return {"run": f"document.getElementById({form!r}).dispatchEvent({told})"}

    cells = "Array.from(document.querySelectorAll('#results td:last-child'), (each) => each.textContent)"
    come = {"until": f"{cells}.length > 0 && !document.getElementById('go').disabled"}
    pen = "document.getElementById('digit').getContext('2d')"
    picture = f"Array.from({pen}.getImageData(0, 0, 28, 28).data).filter((_, i) => i % 4 === 0)"
    # A file as a person picks one, a stroke as a hand draws it.
    rows = (
        "const given = new DataTransfer(); "
        "given.items.add(new File(['a,b,c,d,e\\n1,2,3,4,5\\n9,0,9,0,9'], 'rows.csv'));"
    )
    stroke = "const digit = document.getElementById('digit'); for (let x = 60; x < 160; x += 4)"
    corner = "digit.getBoundingClientRect()"
    moved = f"{{ buttons: 1, clientX: {corner}.x + x, clientY: {corner}.y + x }}"
    steps = [
        {"until": "document.getElementById('token') !== null && document.readyState === 'complete'"},
        {"run": typed("token", "wrong")},
        sent("open"),
        {"until": "document.getElementById('failed').textContent.includes('token')"},
        {"run": typed("token", token)},
        sent("open"),
        {"until": "!document.getElementById('ask').hidden"},
        {"until": "document.getElementById('failed').textContent === ''"},
        {"run": typed("model", "study")},
        sent("model", "change"),
        {"until": "document.getElementById('takes').textContent.includes('5 numbers')"},
        {"until": "document.getElementById('digit').offsetParent === null"},  # not to be seen
        {"run": typed("values", "1, 2, 3, 4, 6")},
        sent("ask"),
        come,
        {"run": cells},
        {"run": f"{{ {rows} document.getElementById('file').files = given.files; }}"},
        sent("file", "change"),
        {"until": "document.getElementById('row').length === 3"},
        {"run": "document.getElementById('row').selectedIndex = 2"},
        sent("ask"),
        come,
        {"run": cells},
        {"picture": str(tmp_path / "numbers.png")},
        {"run": typed("model", "picture")},
        sent("model", "change"),
        {"until": "!document.getElementById('drawing').hidden"},
        {"run": f"{{ {stroke} digit.dispatchEvent(new PointerEvent('pointermove', {moved})); }}"},
        sent("ask"),
        come,
        {"run": cells},
        {"run": picture},
        {"picture": str(tmp_path / "drawn.png")},
        {"run": "document.getElementById('events').innerText"},
    ]
    with serving(home, page=str(folder)) as server:
        command = [
            browser,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-port=0",
            "--window-size=800,1100",
        ]
        command += [f"--user-data-dir={tmp_path / 'browser'}", f"{server.url}/page/"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            try:
                port = tmp_path / "browser" / "DevToolsActivePort"
                while not port.exists() or not port.read_text():
                    assert running.poll() is None
                    time.sleep(0.05)
                visit = ["node", "--experimental-websocket", str(folder / "test" / "visit.mjs")]
                visit.append(port.read_text().split()[0])
                told = subprocess.run(
                    visit, input=json.dumps(steps), capture_output=True, text=True, timeout=120, check=False
                )
            finally:
                running.terminate()
                running.wait(60)
    assert told.returncode == 0, told.stderr
    values = [each for each in json.loads(told.stdout) if isinstance(each, list)]
    typed_row, file_row, scores, drawn = (np.asarray(each, float) for each in values)
    np.testing.assert_allclose(typed_row, [3.2, np.var([1, 2, 3, 4, 6])], atol=2e-3)
    np.testing.assert_allclose(file_row, [5.4, np.var([9, 0, 9, 0, 9])], atol=2e-3)
    assert 0 < np.count_nonzero(drawn) < 784 / 2
    np.testing.assert_allclose(scores, drawn / 255 @ weights, atol=2e-3)
    events = json.loads(told.stdout)[-1]
    assert "evaluation keys" in events
    assert "KB of ciphertexts" in events or "MB of ciphertexts" in events
