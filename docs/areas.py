"What the sidebar shows, and in which order: the reader's questions first, internals last"
from typing import NamedTuple

class Area(NamedTuple):
    "A page that lists the notebooks of some folders, and holds them in the sidebar"
    title: str
    subtitle: str
    text: str # what to read first
    folders: tuple[str, ...]

# First in the sidebar, before the recipes in nbs/start
start = ['studies/tour.ipynb', 'model_selection/05_guide.ipynb']

# Where the order is another than that of the numbers, which is that in which the pages were written.
# Metrics stand together, and the two that train something last; a curve is read before it is measured;
# a study is run before its parts are looked at, and few-shot learners follow the episodes that they learn from.
scores = ('01_leep', '02_nce', '03_h_score', '04_logme', '05_nleep', '06_gbc', '07_transrate', '08_lfc', '09_sfda', '10_parc',
          '11_pactran_dirichlet', '24_pactran_gamma',
          '25_pactran_gauss', '12_otce', '20_jc_nce', '21_knn', '13_baselines')
reading = '01_curve', '07_description_length', '08_sample_complexity', '09_information', '10_metrics', '12_render'
savings = ('01_curve', '02_speedup', '03_relative_reduction', '04_jumpstart', '09_efficiency', '06_compare', '05_bootstrap',
           '07_asymptote')
experiments = ('06_study', '07_readings', '09_recipes', '01_tasks', '03_retrain_head', '04_fine_tuning', '02_episodes',
               '05_meta_transfer', '17_paper_and_ink', '08_few_shot_heads')

areas = {
    'which_model': Area(
        'Which model should I start from?', 'Before training: which of my pretrained models suits my labelled data?',
        'Begin with [Use your own models](start/01_your_models.ipynb), or with [Which score when?](model_selection/05_guide.ipynb), '
        'which has all scores on one page: what each needs, what it costs, and how well it predicts.',
        ('start/05_timm', 'start/06_hugging_face', 'start/07_texts', 'start/08_clip_and_sentences', 'start/09_trainers',
         'model_selection/01_ranking', *(f'transferability/{o}' for o in scores), 'transferability', 'model_selection')),
    'how_much_data': Area(
        'How much data do I need?', 'Before training: how many labels does my task need on top of this representation?',
        'Begin with [sample complexity](loss_data/08_sample_complexity.ipynb), the number of labels until the loss is good enough. '
        'From a shell it is [`loss-data`](cli/05_loss_data.ipynb).',
        (*(f'loss_data/{o}' for o in reading), 'loss_data')),
    'what_was_saved': Area(
        'What did transfer save?', 'After training: how many labels, what head start, what final level?',
        'Begin with [Learning curves from a CSV](start/02_curves_from_a_csv.ipynb); '
        '[Comparing two learning curves](learning_curves/06_compare.ipynb) has every number in one table.',
        (*(f'learning_curves/{o}' for o in savings), 'learning_curves')),
    'accuracy_without_labels': Area(
        'How accurate is it without labels?', 'In deployment: how accurate is the model on new data that nobody labels?',
        'Begin with [A model in production](start/03_a_model_in_production.ipynb). '
        '[The report](invariance/13_report.ipynb) has every estimate from one pass.',
        ('invariance',)),
    'studies': Area(
        'Studies', 'Do the scores predict anything? What was found on real images',
        'Each study asks one question many times over and answers with intervals.',
        ('studies',)),
    'running_experiments': Area(
        'Experiments of your own', 'Tasks, transfer learning in the small, and studies that survive a kill: to try scores on your data',
        'Begin with [Running a study](experiments/06_study.ipynb).',
        (*(f'experiments/{o}' for o in experiments), 'experiments')),
    'data_that_ships': Area(
        'Data that ships', 'Digits and sixteen networks, images from folders, published tables and learning curves',
        'Everything in the examples runs on these, offline.',
        ('datasets',)),
    'under_the_hood': Area(
        'Under the hood', 'The ground floor that all areas share, and the machinery of each: for contributors and the curious',
        'Nothing here is needed to use the package. A new metric is one new notebook; '
        '[CONTRIBUTING](../CONTRIBUTING.md) says how.',
        ('', 'models', 'store', 'stats')),
    'commands': Area(
        'Command line', 'The main jobs without writing Python',
        'Each command runs on an example of its own when it is given nothing.',
        ('cli',)),
}

# The sidebar below "Start"
captions = {
    'Four questions': ['which_model', 'how_much_data', 'what_was_saved', 'accuracy_without_labels'],
    'Evidence': ['studies', 'running_experiments'],
    'Reference': ['commands', 'api', 'All names <genindex>', 'data_that_ships', 'under_the_hood'],
}

# Notebooks that users need not know: under the hood
inner = {
    *(f'model_selection/{o}' for o in ('06_scoring', '07_point_names', '08_tables', '10_told', '11_kept', '12_sweep', '16_naming',
                                      '21_sample_groups')),
    *(f'transferability/{o}' for o in ('14_bhattacharyya', '15_mixture', '16_k_means', '17_precise_head', '18_max_evidence',
                                      '19_correspondence', '22_held_out_evidence', '23_turns')),
    *(f'loss_data/{o}' for o in ('03_training', '04_sampling', '05_features', '13_stacks', '14_jobs', '15_groups', '16_threads',
                                 '17_preparation', '18_runs', '19_questions', '20_findings', '22_trained', '23_loglog',
                                 '24_refine')),
    *(f'learning_curves/{o}' for o in ('08_runs', '10_levels')),
    *(f'invariance/{o}' for o in ('15_noise_and_blur', '16_weather', '17_digital', '18_exterior', '19_transforms', '20_lines',
                                  '21_recipes', '22_fits', '27_prices', '28_drawn_estimates')),
    *(f'experiments/{o}' for o in ('10_modulation', '15_pictures', '11_new_head', '16_remainders', '12_pairs', '13_material',
                                   '14_measuring')),
    'datasets/05_scenes', 'datasets/06_folders',
    *(f'cli/{o}' for o in ('02_common', '08_tables', '09_answers', '10_report', '11_words', '12_study_words', '13_inputs',
                           '14_labelled', '15_parser', '16_study_tables', '18_plan', '19_names', '20_intervals',
                           '22_amounts', '23_study_data', '24_spreadsheets', '25_config', '26_texts',
                           '27_arrays', '28_answered', '29_known_and_new', '30_curve_tables',
                           '31_savings', '32_needs', '33_networks')),
}

# How readers call what is on a page, where its title says it in other words: for the search
also_called = {
    'index': 'start home install cite citation bibtex github repository licence',
    'which_model': 'choose select pick pretrained network backbone checkpoint transferability model selection',
    'how_much_data': 'how many labels samples annotations needed sample complexity',
    'what_was_saved': 'learning curves saving data savings pretraining worth it',
    'accuracy_without_labels': 'no labels unlabelled unlabeled unsupervised accuracy estimation drift production monitoring',
    'start/your_models': 'own models checkpoint torchvision folder of images arrays npy',
    'start/timm': 'pretrained image models library',
    'start/hugging_face': 'hugging face huggingface transformers hub',
    'start/texts': 'hugging face text language nlp sentences',
    'start/clip_and_sentences': 'clip open_clip zero shot sentence transformers embeddings',
    'start/trainers': 'trainer training loop callback pytorch lightning',
    'start/curves_from_a_csv': 'csv table learning curves file pandas',
    'start/a_model_in_production': 'no labels unlabelled unlabeled production deployment drift monitoring accuracy',
    'model_selection/guide': 'which score when best metric choose',
    'start/glossary': 'words terms definitions meaning',
    'studies/tour': 'tutorial introduction quickstart getting started example',
}
